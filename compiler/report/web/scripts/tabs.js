// The tabs that switch between the views; the last script, which opens the page.

{
  const TABS = [
    ["graph", "Graph", () => graphView.show()],
    ["kernels", "Kernels", showKernels],
    ["memory", "Memory", showMemory],
    ["rewrites", "Rewrites", showRewrites],
    contents.changes ? ["changes", "Changes", showChanges] : null,
    contents.comparison.length ? ["comparison", "Compared", showComparison] : null,
    ["model", "Model", showModel],
  ].filter(Boolean);
  const list = document.getElementById("tabs");
  const made = new Set();
  const tabs = TABS.map(([name, title]) => element("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": name, click: () => open(name),
  }, title));
  list.append(...tabs);
  list.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });

  /** Show a view, which is made when it is first shown. */
  function open(name) {
    TABS.forEach(([other, , make], index) => {
      const view = document.getElementById(other);
      view.hidden = other !== name;
      tabs[index].setAttribute("aria-selected", String(other === name));
      tabs[index].tabIndex = other === name ? 0 : -1;
      if (other === name && !made.has(name)) {
        made.add(name);
        make(view);
      }
    });
    selection.repeat();
  }

  /** The name that the page's address ends in; empty if it is not a valid one. */
  function linked() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }

  const { model, profile } = contents;
  const edited = kernels.filter((kernel) => kernel.edited);
  document.getElementById("facts").textContent = [
    `${dispatches.length} kernels for ${model.target}, ${model.profile}, ${model.precision}`,
    parts.length ? `${parts.length} part${parts.length > 1 ? "s" : ""} on the host` : null,
    edited.length ? `${edited.length} edited` : null,
    profile ? `${format.ms(profile.run_ms)} a run` : null,
  ].filter(Boolean).join(", ");
  open("graph");
  const wanted = linked();
  if (nodes.has(wanted)) selection.select(wanted);
  document.body.dataset.ready = "yes";
}
