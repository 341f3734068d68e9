// The contents of the report, and which nodes compute an operator of the model file.

const contents = JSON.parse(document.getElementById("contents").textContent);

const { dispatches, kernels, parts, tensors, rewrites } = contents;

/** What a run executes, by the name of its node: dispatch3, part0. */
const steps = new Map([
  ...dispatches.map((item, index) => [`dispatch${index}`, item]),
  ...parts.map((item, index) => [`part${index}`, item]),
]);

/** The names of the steps that compute an operator of the model file, by its index. */
const stepsOf = new Map();
for (const [name, step] of steps) {
  for (const operator of step.operators) {
    if (!stepsOf.has(operator)) stepsOf.set(operator, []);
    stepsOf.get(operator).push(name);
  }
}

/** The nodes of both graphs, by name. Inputs, outputs and variables are in both. */
const nodes = new Map(
  [contents.graphs.operators, contents.graphs.kernels]
    .filter(Boolean)
    .flatMap((graph) => graph.nodes)
    .map((node) => [node.id, node]),
);
