// The view of two variants compared: which kernels were added, removed and changed.

function showChanges(view) {
  const { figures, rows, before, folder } = contents.changes;
  const { target, profile, precision } = contents.model;
  const shown = (figure, value) => (figure.is_bytes ? format.bytes(value) : String(value));
  const ratio = (now, then) => (then ? (now / then).toFixed(2) : "");
  const states = ["changed", "added", "removed", "same"];
  const entries = pairedRows(rows)
    .map((row) => ({ ...row, moved: row.bytes_now - row.bytes_before }))
    .sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state) || a.moved - b.moved);
  const most = Math.max(...entries.map((row) => Math.abs(row.moved)), 1);
  const sums = sortableTable("Both variants as a whole", [
    { title: "property", kind: "main", value: (row) => row.title },
    { title: "before", number: true, value: (row) => row.before,
      cell: (row) => shown(row, row.before) },
    { title: "now", number: true, value: (row) => row.now, cell: (row) => shown(row, row.now) },
    { title: "ratio", number: true, hint: "Now, divided by before",
      value: (row) => row.now / row.before, cell: (row) => ratio(row.now, row.before) },
  ], figures.map((row) => ({ ...row, id: null, words: row.title })));
  const table = sortableTable("Kernels that compute the same operators, changed ones first", [
    ...OPERATOR_COLUMNS,
    { title: "kernels", value: (row) => row.state },
    { title: "number before", number: true, value: (row) => row.count_before },
    { title: "number now", number: true, value: (row) => row.count_now },
    { title: "bytes before", number: true, value: (row) => row.bytes_before,
      cell: (row) => format.bytes(row.bytes_before) },
    { title: "bytes now", number: true, value: (row) => row.bytes_now,
      cell: (row) => format.bytes(row.bytes_now), bar: (row) => row.moved / most },
  ], entries);

  const counts = states.map((state) => [state, rows.filter((row) => row.state === state).length]);
  view.append(
    facts(counts.map(([state, count]) => [state, String(count)])),
    element("p", { class: "faint" }, `Before: ${before} (${folder}). ` +
      `Now: ${target}, ${profile}, ${precision}.`),
    sums.element, element("h2", { text: "Kernels" }), tableFilter(table, "Filter the changes"), table.element);
}
