// Repeated blocks: which are collapsed, and the graph with each of these as one node.

/** Such as "Block A, 3 of 17"; blocks of the same operators have the same letter. */
const blockTitle = (block) =>
  `Block ${String.fromCharCode(65 + block.kind)}, ${block.number + 1} of ${block.of}`;

class BlockView {
  /** `graph` is one of the graphs of the contents; `name` is its key there. */
  constructor(graph, name) {
    this.graph = graph;
    this.blocks = graph.blocks.map((block, index) => ({
      ...block,
      id: `block-${name}-${index}`,
      members: graph.nodes.slice(block.start, block.start + block.length),
      collapsed: true,
    }));
    this.blockOf = new Map(
      this.blocks.flatMap((block) => block.members.map((node) => [node.id, block])));
  }

  get anyCollapsed() {
    return this.blocks.some((block) => block.collapsed);
  }

  setAll(collapsed) {
    for (const block of this.blocks) block.collapsed = collapsed;
  }

  /** Make a node visible; whether this changed anything. */
  reveal(id) {
    const block = this.blockOf.get(id);
    if (!block?.collapsed) return false;
    block.collapsed = false;
    return true;
  }

  /** The name of the node that stands for a node: itself, or its collapsed block. */
  shown(id) {
    const block = this.blockOf.get(id);
    return block?.collapsed ? block.id : id;
  }

  /** The nodes that are shown, in order. */
  nodes() {
    const found = new Map();
    for (const node of this.graph.nodes) {
      const block = this.blockOf.get(node.id);
      if (block?.collapsed) found.set(block.id, { id: block.id, kind: "block", block });
      else found.set(node.id, node);
    }
    return [...found.values()];
  }

  /** The edges between shown nodes: [source, target, shapes]. */
  edges() {
    const found = new Map();
    for (const [from, to, shape] of this.graph.edges) {
      const [source, target] = [this.shown(from), this.shown(to)];
      if (source === target) continue;
      const key = `${source} ${target}`;
      if (!found.has(key)) found.set(key, [source, target, new Set()]);
      if (shape) found.get(key)[2].add(format.shape(shape));
    }
    return [...found.values()];
  }
}

/** The names of the steps that a node stands for. */
function stepsAt(node) {
  if (node.kind === "block") return [...new Set(node.block.members.flatMap(stepsAt))];
  if (node.kind === "operator") return stepsOf.get(node.index) ?? [];
  return steps.has(node.id) ? [node.id] : [];
}
