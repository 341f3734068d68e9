"use strict";

// The view of the graphs: the drawing, the list of its nodes with the search, and the buttons.

const graphView = (() => {
  const byId = (id) => document.getElementById(id);
  const [outline, search, found] = ["outline", "search", "found"].map(byId);
  const views = new Map(
    [["kernels", "Kernels"], ["operators", "Model file"]].map(([name, title]) => [name, {
      title,
      blocks: contents.graphs[name] && new BlockView(contents.graphs[name], name),
    }]));
  const words = new Map([...nodes.values()].map((node) => [node.id, wordsOf(node)]));
  let current = "kernels";
  let measure = heat.all[0];
  let matching = null;
  let drawing = null;
  let shown = [];
  let items = [];
  let amounts = new Map();
  let most = 0;

  function wordsOf(node) {
    const step = steps.get(node.id);
    const operators = step ? step.operators.map((index) => `#${index}`) : [`#${node.index}`];
    const kernel = step && "kernel" in step ? kernels[step.kernel].name : "";
    return [node.title, node.tensor, kernel, ...operators, ...(node.writes ?? [])]
      .join(" ").toLowerCase();
  }

  /** What the nodes drawn are coloured by: each one's value, and the largest. */
  function weigh() {
    amounts = new Map(shown.map((node) => [node.id, heat.value(measure, stepsAt(node))]));
    most = Math.max(...[...amounts.values()].map((amount) => Math.abs(amount ?? 0)), 0);
    const [low, high] = measure.low ? [measure.text(most), measure.text(0)]
      : measure.signed ? ["faster", "slower"] : ["0", measure.text(most)];
    byId("scale").replaceChildren(low, element("i", { class: measure.signed && "signed" }), high);
  }

  /** The label of a node and its colours. */
  function look(node) {
    const amount = amounts.get(node.id);
    const [fill, ink] = heat.colours(measure, amount, most) ?? [];
    const detail = amount === null ? "" : measure.text(amount);
    return { label: labelOf(node, detail), ...(fill ? { fill, ink } : {}) };
  }

  function labelOf(node, detail) {
    const width = sizeOf(node).width - 20;
    if (node.kind === "block") {
      return `${blockTitle(node.block)}\n` +
        [`${node.block.length} nodes`, detail].filter(Boolean).join(" \u00b7 ");
    }
    if (isEnd(node)) return `${node.kind}\n${shortened(node.tensor, width)}`;
    const where = node.kind === "part" ? `${parts[node.index].host}: ` : "";
    const second = [node.kind === "part" ? null : `#${node.index}`, detail].filter(Boolean);
    return `${shortened(where + short(node.title), width)}\n${second.join(" \u00b7 ")}`;
  }

  function redraw(keep) {
    const { blocks } = views.get(current);
    byId("absent").hidden = Boolean(blocks);
    byId("drawing").hidden = !blocks;
    shown = blocks ? blocks.nodes() : [];
    if (blocks) {
      drawing ??= new Drawing(byId("drawing"), (id, twice) => choose(id, twice));
      weigh();
      drawing.draw(shown, blocks.edges(), look);
      if (keep) drawing.reveal(blocks.shown(keep));
      else drawing.start();
      byId("blocks").hidden = !blocks.blocks.length;
      byId("blocks").textContent = blocks.anyCollapsed ? "Expand blocks" : "Collapse blocks";
      byId("blocks").setAttribute("aria-pressed", String(!blocks.anyCollapsed));
    }
    narrow();
    mark(selection.current);
  }

  function choose(id, expand) {
    const node = shown.find((item) => item.id === id);
    if (expand && node?.kind === "block") toggle(node.block, false);
    else selection.select(id);
  }

  /** Collapse or expand a block, and keep it in view. */
  function toggle(block, collapsed) {
    block.collapsed = collapsed;
    redraw(block.members[0].id);
    selection.select(collapsed ? block.id : block.members[0].id);
  }

  // -- the list ---------------------------------------------------------------------------------

  /** Fill the list with the nodes of a graph, and the blocks they are in. */
  function list() {
    const { blocks } = views.get(current);
    const all = blocks ? blocks.graph.nodes.flatMap((node) => {
      const block = blocks.blockOf.get(node.id);
      return block?.members[0] === node ? [{ id: block.id, kind: "block", block }, node] : [node];
    }) : [];
    items = all.map((node) => [node, itemOf(node)]);
    outline.replaceChildren(...items.map(([, item]) => item));
  }

  function itemOf(node) {
    const label = node.kind === "block" ? blockTitle(node.block)
      : isEnd(node) ? `${node.kind} ${node.tensor}` : short(node.title);
    const numbered = node.kind === "dispatch" || node.kind === "operator";
    return element("li",
      { id: `item-${node.id}`, role: "option", "aria-selected": "false", title: label },
      element("span", { class: `dot ${node.kind}` }), element("span", { text: label }),
      numbered ? element("span", { class: "faint", text: `#${node.index}` }) : null);
  }

  /** Find the nodes with all words of the search; those in collapsed blocks, too. */
  function find() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { blocks } = views.get(current);
    matching = null;
    if (wanted.length && blocks) {
      matching = new Set(blocks.graph.nodes.map((node) => node.id)
        .filter((id) => wanted.every((word) => words.get(id).includes(word))));
    }
    narrow();
    mark(selection.current);
    found.textContent = matching ? `${matching.size} found` : "";
  }

  /** Show the items found; without a search those of the nodes that are drawn. */
  function narrow() {
    const drawn = new Set(shown.map((node) => node.id));
    for (const [node, item] of items) {
      item.hidden = !(matching ?? drawn).has(node.id);
    }
  }

  function mark(id) {
    const { blocks } = views.get(current);
    const visible = id && blocks ? blocks.shown(id) : null;
    outline.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const item = id && byId(`item-${matching ? id : visible}`);
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) outline.setAttribute("aria-activedescendant", item.id);
    else outline.removeAttribute("aria-activedescendant");
    const lit = matching && new Set([...matching].map((name) => blocks.shown(name)));
    if (blocks) drawing?.mark(visible, lit);
  }

  function step(by) {
    const visible = [...outline.children].filter((item) => !item.hidden);
    const at = visible.findIndex((item) => item.ariaSelected === "true");
    const next = visible[Math.min(Math.max(at + by, 0), visible.length - 1)];
    if (next) selection.select(next.id.slice(5));
  }

  outline.addEventListener("click", (event) => {
    const item = event.target.closest("li");
    if (item) selection.select(item.id.slice(5));
  });
  outline.addEventListener("dblclick", (event) => {
    const item = event.target.closest("li");
    if (item) choose(item.id.slice(5), true);
  });
  outline.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 };
    if (event.key in by) step(by[event.key]);
    else if (event.key === "Enter") {
      if (selection.current?.startsWith("block")) choose(selection.current, true);
      else if (selection.current) details.enter();
    }
    else return;
    event.preventDefault();
  });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      outline.focus();
      step(1);
      event.preventDefault();
    }
  });

  // -- the buttons ------------------------------------------------------------------------------

  /** Switch to one of the graphs, without its drawing. */
  function which(name) {
    current = name;
    matching = null;
    search.value = "";
    found.textContent = "";
    list();
    for (const button of byId("which").children) {
      button.setAttribute("aria-pressed", String(button.dataset.name === name));
    }
  }

  byId("which").append(...[...views].map(([name, { title }]) =>
    element("button", { type: "button", "data-name": name, click: () => {
      which(name);
      redraw(null);
    } }, title)));
  byId("heat").append(...heat.all.map((item) =>
    element("option", { value: item.name, text: item.title })));
  byId("heat").addEventListener("change", () => {
    measure = heat.all.find((item) => item.name === byId("heat").value);
    recolour();
  });
  byId("blocks").addEventListener("click", () => {
    const { blocks } = views.get(current);
    blocks.setAll(!blocks.anyCollapsed);
    redraw(null);
  });
  byId("smaller").addEventListener("click", () => drawing?.zoomBy(1 / 1.3));
  byId("larger").addEventListener("click", () => drawing?.zoomBy(1.3));
  byId("fit").addEventListener("click", () => drawing?.fit());
  byId("drawing").addEventListener("keydown", (event) => {
    const moves = {
      ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0],
    };
    if (event.key in moves) drawing.move(...moves[event.key]);
    else if (event.key === "+") drawing.zoomBy(1.3);
    else if (event.key === "-") drawing.zoomBy(1 / 1.3);
    else return;
    event.preventDefault();
  });
  byId("absent").append(
    "The cache does not hold the model file. Give it to see its operators before rewriting, and why " +
    "each kernel was chosen: ",
    element("code", { text: "tflgpu inspect CACHE --model MODEL.tflite --html FILE" }));

  function recolour() {
    weigh();
    drawing?.recolour(look);
  }

  selection.watch((id) => {
    // A graph that is not shown follows when it is.
    if (byId("graph").hidden || !drawing) return;
    if (!id || id.startsWith("tensor")) {
      mark(null);
      return;
    }
    const { blocks } = views.get(current);
    if (id.startsWith("block") ? !id.startsWith(`block-${current}`)
      : !blocks?.graph.nodes.some((node) => node.id === id)) {
      const other = current === "kernels" ? "operators" : "kernels";
      which(other);
      redraw(null);
    }
    const view = views.get(current).blocks;
    if (view.reveal(id)) redraw(id);
    mark(id);
    drawing.reveal(view.shown(id));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);

  which("kernels");
  return {
    /** Draw the graph, once the view has its size. */
    show() {
      if (!drawing) {
        redraw(null);
      }
    },
    toggle,
    /** The block with a name such as block-kernels-3, or the one that holds a node. */
    block: (id) => [...views.values()].flatMap(({ blocks }) => blocks?.blocks ?? [])
      .find((block) => block.id === id || block.members.some((node) => node.id === id)),
    /** The Cytoscape instance, for tests. */
    get drawn() { return drawing.view; },
  };
})();
