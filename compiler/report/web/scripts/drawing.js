// The drawing of a graph, by Cytoscape.

class Drawing {
  /** Draws into an element; `chosen` is called with the name of a node that is clicked. */
  constructor(container, chosen) {
    this.view = cytoscape({
      container,
      autoungrabify: true,
      boxSelectionEnabled: false,
      minZoom: 0.02,
      maxZoom: 2.5,
      pixelRatio: "auto",
      textureOnViewport: true,
      hideEdgesOnViewport: false,
    });
    new ResizeObserver(() => this.#resize()).observe(container);
    this.view.on("tap", "node", (event) => chosen(event.target.id(), false));
    this.view.on("dbltap", "node", (event) => chosen(event.target.id(), true));
  }

  /** Draw nodes and edges; `look(node)` has the label, and the colours if it has its own. */
  draw(nodes, edges, look) {
    const { centres, bends: lines } = layOut(nodes, edges);
    this.nodes = nodes;
    const placed = [...centres.values()];
    this.extent = {
      left: Math.min(...placed.map((node) => node.x - node.width / 2)),
      right: Math.max(...placed.map((node) => node.x + node.width / 2)),
      top: Math.min(...placed.map((node) => node.y - node.height / 2)),
      first: placed[0]?.x ?? 0,
    };
    this.view.elements().remove();
    this.view.style(this.#style());
    this.view.add([
      ...nodes.map((node) => ({
        group: "nodes",
        data: { id: node.id, ...sizeOf(node), ...look(node) },
        classes: node.kind,
        position: { x: centres.get(node.id).x, y: centres.get(node.id).y },
      })),
      ...edges.map(([source, target, shapes], index) => ({
        group: "edges",
        data: { source, target, label: [...shapes].join(", "), ...this.#line(lines[index]) },
        classes: lines[index].length ? "bent" : "",
      })),
    ]);
  }

  /** Keep what is in the middle, or the chosen node, in view. */
  #resize() {
    const middle = this.view.width() / 2;
    this.view.resize();
    this.view.panBy({ x: this.view.width() / 2 - middle, y: 0 });
    if (this.chosen) this.reveal(this.chosen);
  }

  #line(bends) {
    if (!bends.length) return {};
    return {
      weights: bends.map((bend) => bend.along),
      distances: bends.map((bend) => bend.away),
    };
  }

  /** Colour the nodes again. */
  recolour(look) {
    this.view.style(this.#style());
    this.view.batch(() => {
      for (const node of this.nodes) {
        const drawn = this.view.getElementById(node.id);
        drawn.removeData("fill ink");
        drawn.data(look(node));
      }
    });
  }

  /** Mark the selected node, and dim all that are not among those found; null for all. */
  mark(selected, found) {
    this.chosen = selected;
    this.view.batch(() => {
      this.view.nodes().forEach((node) => {
        node.toggleClass("chosen", node.id() === selected);
        node.toggleClass("dimmed", found !== null && !found.has(node.id()));
      });
      this.view.edges().forEach((edge) => {
        edge.toggleClass("chosen", [edge.data("source"), edge.data("target")].includes(selected));
      });
    });
  }

  /** Bring a node into the middle unless it is well inside already. */
  reveal(id) {
    const node = this.view.getElementById(id);
    if (!node.nonempty()) return;
    const box = node.renderedBoundingBox();
    const [width, height] = [this.view.width(), this.view.height()];
    const inside = box.x1 > 0 && box.x2 < width && box.y1 > 10 && box.y2 < height - 20;
    if (this.view.zoom() < 0.45) this.view.zoom({ level: 0.8, position: node.position() });
    if (!inside || this.view.zoom() === 0.8) this.view.center(node);
  }

  /** The top of the graph, as large as its width allows within what can be read. */
  start() {
    const { left, right, top, first } = this.extent;
    const room = this.view.width();
    const zoom = Math.min(Math.max(room / (right - left + 60), 0.6), 1);
    const middle = (right - left) * zoom < room ? (left + right) / 2 : first;
    this.view.viewport({ zoom, pan: { x: room / 2 - middle * zoom, y: 24 - top * zoom } });
  }

  fit() {
    this.view.fit(undefined, 24);
  }

  zoomBy(factor) {
    const middle = { x: this.view.width() / 2, y: this.view.height() / 2 };
    this.view.zoom({ level: this.view.zoom() * factor, renderedPosition: middle });
  }

  move(x, y) {
    this.view.panBy({ x, y });
  }

  #style() {
    const from = getComputedStyle(document.documentElement);
    const colour = (name) => from.getPropertyValue(name).trim();
    const font = getComputedStyle(document.body).fontFamily;
    return [
      { selector: "node", style: {
        shape: "round-rectangle", "corner-radius": 8, width: "data(width)", height: "data(height)",
        "background-color": colour("--node"), "border-width": 1, "border-color": colour("--line"),
        label: "data(label)", color: colour("--ink"), "font-family": font, "font-size": FONT_SIZE,
        "line-height": 1.25, "text-wrap": "wrap", "text-max-width": 400,
        "text-valign": "center", "text-halign": "center", "min-zoomed-font-size": 5,
        "overlay-opacity": 0 } },
      { selector: "node[fill]", style: {
        "background-color": "data(fill)", color: "data(ink)" } },
      { selector: "node.input, node.output, node.variable", style: {
        "corner-radius": 17, "background-color": colour("--page"),
        "font-size": 11, "border-color": colour("--faint") } },
      { selector: "node.part", style: {
        "border-style": "dashed", "border-width": 2, "border-color": colour("--host") } },
      { selector: "node.block", style: {
        "border-style": "double", "border-width": 4, "border-color": colour("--faint") } },
      { selector: "edge", style: {
        width: 1.4, "line-color": colour("--edge"), "target-arrow-color": colour("--edge"),
        "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "straight",
        label: "data(label)", color: colour("--faint"), "font-family": font, "font-size": 9,
        "min-zoomed-font-size": 6.5, "text-background-color": colour("--canvas"),
        "text-background-opacity": 0.9, "text-background-padding": 2, "overlay-opacity": 0 } },
      { selector: "edge.bent", style: {
        "curve-style": "round-segments", "edge-distances": "node-position",
        "segment-weights": "data(weights)", "segment-distances": "data(distances)",
        "segment-radii": 16 } },
      { selector: "node.dimmed", style: { opacity: 0.28 } },
      { selector: "node.chosen", style: {
        opacity: 1, "border-width": 3, "border-style": "solid", "border-color": colour("--link"),
        "outline-width": 4, "outline-color": colour("--link"), "outline-opacity": 0.25 } },
      { selector: "edge.chosen", style: {
        width: 2.2, "line-color": colour("--link"), "target-arrow-color": colour("--link") } },
    ];
  }
}
