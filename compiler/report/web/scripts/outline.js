// The list of a graph's nodes, beside the drawing: for the keyboard, screen readers and the search.

class Outline {
  #items = [];

  /** `open` is called with the name of an item that Enter or a double click opens. */
  constructor(list, open) {
    this.list = list;
    list.addEventListener("click", (event) => this.#under(event, selection.select));
    list.addEventListener("dblclick", (event) => this.#under(event, open));
    list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 };
      if (event.key in by) this.step(by[event.key]);
      else if (event.key === "Enter" && selection.current) open(selection.current);
      else return;
      event.preventDefault();
    });
  }

  /** Fill the list with the nodes of a graph, and the blocks they are in. */
  fill(blocks) {
    const all = blocks ? blocks.graph.nodes.flatMap((node) => {
      const block = blocks.blockOf.get(node.id);
      return block?.members[0] === node ? [{ id: block.id, kind: "block", block }, node] : [node];
    }) : [];
    this.#items = all.map((node) => [node.id, this.#item(node)]);
    this.list.replaceChildren(...this.#items.map(([, item]) => item));
  }

  /** Show only the items with these names. */
  narrow(names) {
    for (const [name, item] of this.#items) item.hidden = !names.has(name);
  }

  /** Mark an item as selected; null for none. */
  mark(name) {
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const item = name && document.getElementById(`item-${name}`);
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) this.list.setAttribute("aria-activedescendant", item.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** Select the item so many below the selected one, or the first. */
  step(by) {
    const visible = this.#items.filter(([, item]) => !item.hidden);
    const at = visible.findIndex(([, item]) => item.ariaSelected === "true");
    const next = visible[Math.min(Math.max(at + by, 0), visible.length - 1)];
    if (next) selection.select(next[0]);
  }

  #under(event, action) {
    const item = event.target.closest("li");
    const found = this.#items.find(([, other]) => other === item);
    if (found) action(found[0]);
  }

  #item(node) {
    const label = node.kind === "block" ? blockTitle(node.block)
      : isEnd(node) ? `${node.kind} ${node.tensor}` : short(node.title);
    const numbered = node.kind === "dispatch" || node.kind === "operator";
    return element("li",
      { id: `item-${node.id}`, role: "option", "aria-selected": "false", title: label },
      element("span", { class: `dot ${node.kind}` }), element("span", { text: label }),
      numbered ? element("span", { class: "faint", text: `#${node.index}` }) : null);
  }
}
