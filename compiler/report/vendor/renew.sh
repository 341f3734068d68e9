#!/bin/sh
# Fetches the libraries at the versions stated here from npm's registry: sh renew.sh
# Needs npm. See README.md.
set -eu
cytoscape=3.34.4
dagre=3.1.3

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "cytoscape@$cytoscape" "@dagrejs/dagre@$dagre" >/dev/null

for archive in *.tgz; do
    tar -xzf "$archive"
    case $archive in
        cytoscape-*) name=cytoscape ;;
        *) name=dagre ;;
    esac
    # Comments that refer to files which are not kept here are left out.
    sed -e '/^\/\/# sourceMappingURL/d' -e '/^\/\*! For license information/d' \
        "package/dist/$name.min.js" >"$here/$name.min.js"
    cp package/LICENSE "$here/$name.LICENSE.txt"
    rm -rf package
done
