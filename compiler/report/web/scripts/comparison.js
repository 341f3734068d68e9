// The view of two profiles compared: what got faster, and what slower.

function showComparison(view) {
  const { profile, compared, comparison } = contents;
  const rows = pairedRows(comparison)
    .map((row) => ({ ...row, change: row.now_ms - row.before_ms }))
    .sort((a, b) => a.change - b.change);
  const most = Math.max(...rows.map((row) => Math.abs(row.change)), 1e-9);
  const change = heat.all.find((item) => item.name === "change");
  const table = sortableTable("Kernels that compute the same operators, most gained first", [
    ...OPERATOR_COLUMNS,
    { title: "before", number: true, value: (row) => row.before_ms,
      cell: (row) => format.ms(row.before_ms) },
    { title: "now", number: true, value: (row) => row.now_ms, cell: (row) => format.ms(row.now_ms) },
    { title: "change", number: true, value: (row) => row.change,
      cell: (row) => change.text(row.change),
      bar: (row) => row.change / most },
    { title: "now / before", number: true,
      value: (row) => (row.before_ms ? row.now_ms / row.before_ms : null),
      cell: (row) => (row.before_ms ? (row.now_ms / row.before_ms).toFixed(2) : "new") },
  ], rows);

  view.append(
    facts([
      ["a run, before", format.ms(compared.run_ms)],
      ["a run, now", format.ms(profile.run_ms)],
      ["now / before", (profile.run_ms / compared.run_ms).toFixed(2)],
      ["kernels, before", format.ms(compared.kernels_ms)],
      ["kernels, now", format.ms(profile.kernels_ms)],
    ]),
    element("p", { class: "faint" }, `Before: ${compared.file}, for ${compared.target}, ` +
      `${compared.profile}. Now: ${profile.file}, for ${profile.target}, ${profile.profile}.`),
    ...[...new Set([compared.device, profile.device])].map((device) =>
      element("p", { class: "faint", text: `On ${device}.` })),
    tableFilter(table, "Filter the comparison"), table.element);
}
