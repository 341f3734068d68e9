// The layout of a graph in layers, by dagre.

const NODE = { width: 208, height: 46 };
const END = { width: 150, height: 34 };

/** Whether a node stands for an input, an output or a variable of the model. */
const isEnd = (node) => ["input", "output", "variable"].includes(node.kind);

const sizeOf = (node) => (isEnd(node) ? END : NODE);

const FONT_SIZE = 12;

/** A text cut so that it is at most so many units wide. */
const shortened = (() => {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${FONT_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  return (text, width) => {
    if (context.measureText(text).width <= width) return text;
    let length = Math.floor((text.length * width) / context.measureText(text).width);
    while (length && context.measureText(`${text.slice(0, length)}\u2026`).width > width) length -= 1;
    return `${text.slice(0, length)}\u2026`;
  };
})();

/** The centre of each node by name, and the bends of each edge. */
function layOut(nodes, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 44, edgesep: 12, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { ...sizeOf(node) });
  for (const [source, target] of edges) graph.setEdge(source, target);
  dagre.layout(graph);
  return {
    centres: new Map(nodes.map(({ id }) => [id, graph.node(id)])),
    bends: edges.map(([source, target]) =>
      bends(graph.edge(source, target).points.slice(1, -1), graph.node(source), graph.node(target))),
  };
}

/** Points as Cytoscape takes them: along the line between both nodes, and away from it. */
function bends(points, source, target) {
  const [x, y] = [target.x - source.x, target.y - source.y];
  const length = Math.hypot(x, y) || 1;
  const relative = points.map((point) => {
    const [dx, dy] = [point.x - source.x, point.y - source.y];
    return { along: (dx * x + dy * y) / (length * length), away: (dx * y - dy * x) / -length };
  });
  return relative.some(({ away }) => Math.abs(away) > 4) ? relative : [];
}
