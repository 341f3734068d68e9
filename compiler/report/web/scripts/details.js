// The panel with everything about what is selected.

const details = (() => {
  const panel = document.getElementById("details");
  let left = null;

  /** Move the focus into the panel; Escape or the close button bring it back. */
  function enter() {
    if (!panel.contains(document.activeElement)) left = document.activeElement;
    panel.focus({ preventScroll: true });
  }

  function close() {
    selection.select(null);
    if (left?.isConnected) left.focus();
    left = null;
  }

  function show(id) {
    panel.hidden = !id;
    document.body.classList.toggle("with-details", Boolean(id));
    if (!id) return;
    const inside = panel.contains(document.activeElement);
    const [heading, ...content] = describe(id);
    panel.replaceChildren(
      element("div", { class: "heading" },
        element("h2", { text: heading }),
        element("button", { type: "button", class: "close", "aria-label": "Close details",
          click: close }, "\u00d7")),
      ...content.filter(Boolean));
    panel.scrollTop = 0;
    if (inside) panel.focus({ preventScroll: true });
  }

  function describe(id) {
    const node = nodes.get(id);
    if (id.startsWith("block")) return ofBlock(graphView.block(id));
    if (id.startsWith("tensor")) return ofTensor(Number(id.slice(6)));
    if (!node) return ["Nothing has this name", element("p", { text: id })];
    if (node.kind === "dispatch") return ofDispatch(node, dispatches[node.index]);
    if (node.kind === "part") return ofPart(node, parts[node.index]);
    if (node.kind === "operator") return ofOperator(node);
    return ofEnd(node);
  }

  // -- kernels and parts ------------------------------------------------------------------------

  function ofDispatch(node, step) {
    const kernel = kernels[step.kernel];
    return [
      short(node.title),
      element("p", { class: "faint" }, `dispatch ${node.index}, writes ${node.tensor}`),
      inBlock(node.id),
      facts([
        ...times(step, `dispatch${node.index}`),
        ["operations", format.count(step.flops)],
        ["bytes moved", format.bytes(step.bytes)],
        ["grid", format.shape(step.grid)],
        ["work-group", format.shape(kernel.group)],
        kernel.shared ? ["shared memory", format.bytes(kernel.shared)] : null,
        kernel.edited ? ["source", "edited by hand"] : null,
        ...machineCode(kernel.code),
      ]),
      ...origin(step),
      section("Why this kernel", true, ...why(step)),
      section("Tensors", true, tensorTable(step.arguments)),
      ...rewritten(step.operators),
      section(`Source of ${kernel.name}`, true, sourceOf(kernel)),
      kernel.code ? section("Machine code", false,
        element("pre", { class: "source", tabindex: "0", text: kernel.code.text })) : null,
    ];
  }

  function ofPart(node, step) {
    return [
      `${step.host}: ${node.title}`,
      element("p", { class: "faint" }, `${step.file}, runs before dispatch ${step.before}`),
      inBlock(node.id),
      facts(times(step, node.id)),
      ...origin(step),
      step.reasons.length ? section("Why it does not run on the device", true, listOf(step.reasons)) : null,
      section("Reads", true, listOf(step.reads)),
      section("Writes", true, listOf(step.writes)),
      ...rewritten(step.operators),
    ];
  }

  function times(step, id) {
    if (step.ms === null) return [];
    const total = contents.profile.kernels_ms + contents.profile.parts_ms;
    const change = heat.change.get(id);
    return [
      ["time", format.ms(step.ms)],
      ["share of all kernels", format.percent(step.ms / total)],
      step.roofline === null ? null : ["of the roofline", format.percent(step.roofline)],
      change === undefined ? null
        : ["change", heat.all.find((item) => item.name === "change").text(change)],
    ];
  }

  function machineCode(code) {
    return code ? Object.entries(code).filter(([name]) => name !== "text")
      .map(([name, value]) => [name.replaceAll("_", " "), String(value)]) : [];
  }

  /** The operators of the model file that a step computes. */
  function origin(step) {
    if (!step.operators.length) return [element("p", {}, "Added by the compiler.")];
    const named = step.operators.map((index) => {
      const operator = nodes.get(`operator${index}`);
      return operator ? link(operator.id, `#${index} ${operator.title}`) : `#${index}`;
    });
    return [element("p", { class: "links" }, "Operators in the model file: ", ...between(named))];
  }

  function why(step) {
    const found = [];
    for (const chosen of step.chosen) {
      found.push(element("p", {}, element("strong", { text: chosen.implementation }),
        " computes these operators."));
      const passed = [
        ...chosen.others.map((name) => [name, "possible, but moves more bytes or ranks lower"]),
        ...chosen.unsupported,
      ];
      if (passed.length) {
        found.push(element("p", {}, "Passed over:"), element("ul", {}, passed.map(([name, reason]) =>
          element("li", {}, element("strong", { text: name }),
            element("span", { class: "faint", text: `: ${reason}` })))));
      }
    }
    if (step.why) found.push(element("p", { text: `Sizes: ${step.why}` }));
    if (!contents.graphs.operators) {
      found.push(element("p", { class: "faint" },
        "The model file (--model MODEL.tflite) adds which implementations were passed over."));
    } else if (contents.note) found.push(element("p", { class: "faint", text: contents.note }));
    return found;
  }

  function tensorTable(items) {
    const rows = items.map((item) => {
      const tensor = item.tensor === null ? null : tensors[item.tensor];
      return element("tr", {},
        element("td", { class: "short", text: item.writes ? "writes" : "reads" }),
        element("td", {}, tensor ? link(`tensor${item.tensor}`, tensor.name) : item.region),
        element("td", { text: tensor ? format.shape(tensor.shape) : "" }),
        element("td", { class: "number", text: format.bytes(item.size) }));
    });
    return element("table", {}, element("thead", {}, element("tr", {},
      ["access", "tensor", "shape", "bytes"].map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, rows));
  }

  /** The rewrites that took part in a kernel, and those that were declined. */
  function rewritten(operators) {
    const mine = rewrites.filter((item) =>
      item.indices.some((index) => operators.includes(index)));
    const list = (items) => element("ul", {}, items.map((item) => element("li", {},
      element("strong", { text: item.pass }), ` ${item.operators.join(" + ")}`,
      item.reason ? element("span", { class: "faint", text: `: ${item.reason}` }) : null)));
    const [applied, declined] = [true, false].map((kind) =>
      mine.filter((item) => item.applied === kind));
    return [
      applied.length ? section("Rewrites that made it", true, list(applied)) : null,
      declined.length ? section("Rewrites declined", false, list(declined)) : null,
    ];
  }

  // -- operators, blocks, tensors ---------------------------------------------------------------

  function ofOperator(node) {
    const names = stepsOf.get(node.index) ?? [];
    return [
      node.title,
      element("p", { class: "faint" }, `operator ${node.index} of the model file`),
      inBlock(node.id),
      names.length
        ? element("p", { class: "links" }, "Computed by ", ...between(names.map(named)))
        : element("p", {}, "No kernel computes it: it was folded, removed or became a view."),
      section("Reads", true, listOf(node.reads)),
      section("Writes", true, listOf(node.writes)),
      ...rewritten([node.index]),
    ];
  }

  function named(name) {
    const node = nodes.get(name);
    return link(name, `${node.kind === "part" ? `${parts[node.index].host}: ` : `${node.index} `}${short(node.title)}`);
  }

  function ofBlock(block) {
    const names = stepsAt({ kind: "block", block });
    const rows = heat.all.map((measure) => [measure, heat.value(measure, names)])
      .filter(([, amount]) => amount !== null)
      .map(([measure, amount]) => [measure.title, measure.text(amount)]);
    return [
      blockTitle(block),
      element("p", {}, element("button", { type: "button",
        click: () => graphView.toggle(block, !block.collapsed) },
      block.collapsed ? "Expand" : "Collapse")),
      facts(rows),
      section("Nodes", true, element("ol", {}, block.members.map((node) =>
        element("li", {}, link(node.id, `${short(node.title)} #${node.index}`))))),
    ];
  }

  function inBlock(id) {
    const block = graphView.block(id);
    return block ? element("p", { class: "links" },
      `${blockTitle(block)} `,
      element("button", { type: "button", class: "link",
        click: () => graphView.toggle(block, true) }, "collapse")) : null;
  }

  function ofEnd(node) {
    const info = contents.model[`${node.kind}s`][node.index];
    return [
      `${node.kind} ${node.tensor}`,
      info.shape ? facts([["type", info.dtype], ["shape", format.shape(info.shape)]]) : null,
    ];
  }

  function ofTensor(index) {
    const tensor = tensors[index];
    const uses = (writes) => dispatches.map((step, number) => [step, `dispatch${number}`])
      .filter(([step]) => step.arguments.some((item) => item.tensor === index && item.writes === writes))
      .map(([, name]) => named(name));
    const [written, read] = [uses(true), uses(false)];
    return [
      tensor.name,
      element("p", { class: "faint" }, "tensor"),
      facts([
        ["type", tensor.dtype], ["shape", format.shape(tensor.shape)],
        ["storage", tensor.storage], ["size", format.bytes(tensor.size)],
        ["location", tensor.region === "arena" ? `arena, byte ${format.whole(tensor.offset)}`
          : `${tensor.region} ${tensor.index}`],
        ["alive", lifetime(tensor)],
      ]),
      written.length ? element("p", { class: "links" }, "Written by ", ...between(written)) : null,
      read.length ? element("p", { class: "links" }, "Read by ", ...between(read)) : null,
    ];
  }

  function listOf(texts) {
    return element("ul", {}, texts.map((text) => element("li", { text })));
  }

  function between(items) {
    return items.flatMap((item, index) => (index ? [", ", item] : [item]));
  }

  function section(title, open, ...content) {
    return element("details", { open }, element("summary", {}, element("h3", { text: title })),
      ...content);
  }

  selection.watch(show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && selection.current) close();
  });
  return { enter };
})();

/** When a tensor is alive, in dispatches. */
function lifetime(tensor) {
  const first = tensor.first < 0 ? "start" : tensor.first;
  const last = tensor.last >= dispatches.length ? "end" : tensor.last;
  return `${first} to ${last}`;
}
