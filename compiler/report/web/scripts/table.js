// A table that can be sorted by any column and filtered by text.

const AT_ONCE = 100;
const BY_NAME = new Intl.Collator("en", { numeric: true });

/**
 * `columns` have a title, `value(row)` to sort by, and optionally `cell(row)` for what is shown,
 * `number` for right alignment, and `bar(row)` for a share that is drawn behind it: up
 * to 1, negative for what got better.
 * `rows` have `id`, the node that a click selects, or null, and `words` to search in.
 */
function sortableTable(caption, columns, rows) {
  const body = element("tbody");
  const entries = rows.map((row) => ({
    row,
    words: row.words.toLowerCase(),
    line: element("tr", { "data-id": row.id }, columns.map((column) => cell(column, row))),
  }));
  const headers = columns.map((column) =>
    element("th", { scope: "col", class: column.number ? "number" : null },
      element("button", { type: "button", title: column.hint ?? null, click: () => sort(column) },
        column.title)));
  let rest = null;
  show();
  let sorted = null;
  let downwards = false;

  function sort(column) {
    downwards = sorted === column ? !downwards : Boolean(column.number);
    sorted = column;
    const sign = downwards ? -1 : 1;
    const key = new Map(entries.map((entry) => [entry, column.value(entry.row)]));
    entries.sort((a, b) => sign * compare(key.get(a), key.get(b)));
    show();
    headers.forEach((header, index) => {
      if (columns[index] === column) header.ariaSort = downwards ? "descending" : "ascending";
      else header.removeAttribute("aria-sort");
    });
  }

  /** Show the rows in their order: at once those that fit on a screen, then the others. */
  function show() {
    const lines = entries.map((entry) => entry.line);
    body.replaceChildren(...lines.slice(0, AT_ONCE));
    if (lines.length > AT_ONCE) {
      const token = (rest = {});
      requestAnimationFrame(() => setTimeout(() => {
        if (rest === token) body.append(...lines.slice(AT_ONCE));
      }));
    }
  }

  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line?.dataset.id && !getSelection().toString()) selection.select(line.dataset.id);
  });
  selection.watch((id) => {
    for (const { row, line } of entries) line.classList.toggle("selected", row.id === id && id);
  });

  return {
    element: element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
      element("table", {},
        element("caption", { text: caption }),
        element("thead", {}, element("tr", {}, headers)),
        body)),
    /** Show only the rows with all words of a text; returns how many there are. */
    filter(text) {
      const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { words, line } of entries) {
        line.hidden = !wanted.every((word) => words.includes(word));
        shown += !line.hidden;
      }
      return shown;
    },
  };

  function cell(column, row) {
    const share = column.bar ? column.bar(row) : null;
    const names = [column.number && "number", column.kind, share !== null && "bar", share < 0 && "good"];
    return element("td", {
      class: names.filter(Boolean).join(" ") || null,
      style: share ? `--share: ${(Math.abs(share) * 100).toFixed(1)}%` : null,
    }, (column.cell ?? column.value)(row) ?? "");
  }

  function compare(a, b) {
    if (a === b) return 0;
    if (a === null || a === undefined) return -1;
    if (b === null || b === undefined) return 1;
    return typeof a === "number" ? a - b : BY_NAME.compare(a, b);
  }
}

/** A search field that filters a table, with the number of rows found. */
function tableFilter(table, label) {
  const status = element("p", { class: "faint", role: "status" });
  const field = element("input", {
    type: "search", placeholder: "Filter", "aria-label": label, autocomplete: "off",
    input: () => {
      const count = table.filter(field.value);
      status.textContent = field.value ? `${count} found` : "";
    },
  });
  return element("div", { class: "filter" }, field, status);
}

/** The rows of kernels that compute the same operators, before and now. */
function pairedRows(items) {
  return items.map((item) => ({
    ...item,
    id: item.dispatches.length ? `dispatch${item.dispatches[0]}` : null,
    words: [item.state, ...item.labels, ...item.operators.map((index) => `#${index}`)].join(" "),
  }));
}

/** The columns that say which operators such rows are about. */
const OPERATOR_COLUMNS = [
  { title: "operators", kind: "main", value: (row) => row.labels.join(", "),
    cell: (row) => (row.id ? link(row.id, pairedTitle(row)) : pairedTitle(row)) },
  { title: "in the file", number: true, value: (row) => row.operators[0] ?? null,
    cell: (row) => format.ranges(row.operators), hint: "Operators of the model file" },
];

function pairedTitle(row) {
  const titles = row.labels.map((label) => short(label.split(" -> ")[0]));
  return row.operators.length ? titles.join(", ") : "kernels that the compiler added";
}
