// The view of the graphs: what is drawn and listed, the search, and the buttons.

const graphView = (() => {
  const byId = (id) => document.getElementById(id);
  const [search, found] = ["search", "found"].map(byId);
  const outline = new Outline(byId("outline"), (id) => {
    if (id.startsWith("block")) choose(id, true);
    else details.enter();
  });
  const views = new Map(
    [["kernels", "Kernels"], ["operators", "Model file"]].map(([name, title]) => [name, {
      title,
      blocks: contents.graphs[name] && new BlockView(contents.graphs[name], name),
    }]));
  const shapes = shapesOf([contents.graphs.operators, contents.graphs.kernels].filter(Boolean));
  const words = new Map([...nodes.values()].map((node) => [node.id, wordsOf(node)]));
  let current = "kernels";
  let measure = heat.all[0];
  let matching = null;
  let drawing = null;
  let shown = [];
  let amounts = new Map();
  let most = 0;

  function wordsOf(node) {
    const step = steps.get(node.id);
    const operators = step ? step.operators.map((index) => `#${index}`) : [`#${node.index}`];
    const kernel = step && "kernel" in step ? kernels[step.kernel].name : "";
    const computed = step ? step.operators.map((index) => nodes.get(`operator${index}`)?.title) : [];
    return [node.title, node.tensor, kernel, ...operators, ...computed, ...(node.writes ?? []),
      ...(shapes.get(node.id) ?? [])].join(" ").toLowerCase();
  }

  /** The shapes of what each node reads and writes, as 1x8x8x3 and as 1,8,8,3. */
  function shapesOf(graphs) {
    const found = new Map();
    for (const [source, target, shape] of graphs.flatMap((graph) => graph.edges)) {
      for (const id of shape ? [source, target] : []) {
        found.set(id, [...(found.get(id) ?? []), shape.join("x"), shape.join(",")]);
      }
    }
    return found;
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

  // -- the search -------------------------------------------------------------------------------

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

  /** List the nodes found; without a search those that are drawn. */
  function narrow() {
    outline.narrow(matching ?? new Set(shown.map((node) => node.id)));
  }

  function mark(id) {
    const { blocks } = views.get(current);
    if (!blocks) return;
    const visible = id && blocks.shown(id);
    outline.mark(matching ? id : visible);
    drawing?.mark(visible, matching && new Set([...matching].map((name) => blocks.shown(name))));
  }

  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      outline.list.focus();
      outline.step(1);
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
    outline.fill(views.get(name).blocks);
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
      if (!drawing) redraw(null);
    },
    toggle,
    /** The block with a name such as block-kernels-3, or the one that holds a node. */
    block: (id) => [...views.values()].flatMap(({ blocks }) => blocks?.blocks ?? [])
      .find((block) => block.id === id || block.members.some((node) => node.id === id)),
    /** The Cytoscape instance, for tests. */
    get drawn() { return drawing.view; },
  };
})();
