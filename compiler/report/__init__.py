"""The report: a compiled model as one interactive HTML page that needs no server and no network.

`contents` gathers what the page shows, `page` puts it together with the scripts and styles of the
folder `web` and the libraries of the folder `vendor`.
"""
