// The view of all kernels as a table, with the parts on the host between them.

function showKernels(view) {
  const rows = contents.graphs.kernels.nodes.filter((node) => steps.has(node.id))
    .map((node, position) => {
      const step = steps.get(node.id);
      const kernel = kernels[step.kernel];
      const place = kernel ? kernel.name + (kernel.edited ? " (edited)" : "") : step.file;
      return {
        id: node.id, node, step, kernel, place, position,
        words: `${node.title} ${node.tensor} ${place} ${step.operators.map((i) => `#${i}`).join(" ")}`,
      };
    });
  const measured = contents.profile !== null;
  const registers = kernels.some((kernel) => kernel.code);

  const columns = [
    { title: "#", value: (row) => row.position, number: true,
      cell: (row) => (row.kernel ? String(row.node.index) : "") },
    { title: "operators", value: (row) => row.node.title, kind: "main",
      cell: (row) => link(row.id, short(row.node.title)) },
    { title: "kernel", kind: "name", value: (row) => row.place },
    { title: "in the file", value: (row) => row.step.operators[0] ?? null, number: true,
      cell: (row) => format.ranges(row.step.operators), hint: "Operators of the model file" },
    measured && column("time", (row) => row.step.ms),
    contents.comparison.length && column("change", (row) => heat.change.get(row.id) ?? null),
    measured && column("roofline", (row) => row.step.roofline),
    column("operations", (row) => row.step.flops ?? null),
    column("bytes", (row) => row.step.bytes ?? null),
    registers && column("registers", (row) => row.kernel?.code?.registers ?? null),
    registers && { title: "spills", number: true, value: (row) => row.kernel?.code?.spills ?? null },
    { title: "grid", value: (row) => row.step.grid?.reduce((a, b) => a * b) ?? null, number: true,
      cell: (row) => (row.step.grid ? format.shape(row.step.grid) : "") },
    { title: "group", value: (row) => row.kernel?.group.reduce((a, b) => a * b) ?? null, number: true,
      cell: (row) => (row.kernel ? format.shape(row.kernel.group) : "") },
  ].filter(Boolean);

  function column(name, value) {
    const measure = heat.all.find((item) => item.name === name);
    return {
      title: name, hint: measure.title, number: true, value,
      cell: (row) => (value(row) === null ? "" : measure.text(value(row))),
      bar: (row) => (measure.most ? (measure.low ? -1 : 1) * value(row) / measure.most : 0),
    };
  }

  const table = sortableTable("Kernels, in the order in which they run", columns, rows);
  view.append(tableFilter(table, "Filter kernels"), table.element);
}
