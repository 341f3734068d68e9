// The view of the model: its inputs and outputs, and the options it was compiled with.

function showModel(view) {
  const { model, profile } = contents;
  const typed = (items) => element("ul", {}, items.map((item) => element("li", {},
    element("strong", { text: item.name }), ` ${item.dtype} ${format.shape(item.shape)}`)));
  const worded = (value) => (Array.isArray(value) ? value.map(worded).join(", ") : String(value)) || "none";
  const edited = kernels.filter((kernel) => kernel.edited);
  const operations = dispatches.reduce((total, step) => total + step.flops, 0);
  view.append(
    facts([
      ["kernels", dispatches.length],
      ["launches", model.launches],
      ["distinct sources", new Set(dispatches.map((step) => step.kernel)).size],
      ["operations", format.count(operations)],
      ["weights", format.bytes(model.weights)],
      ["intermediate tensors", format.bytes(model.memory.planned)],
      parts.length ? ["parts on the host", parts.length] : null,
      edited.length ? ["edited by hand", edited.map((kernel) => kernel.name).join(", ")] : null,
      profile ? ["a run", format.ms(profile.run_ms)] : null,
      profile ? ["all kernels", format.ms(profile.kernels_ms)] : null,
    ]),
    element("h2", { text: "Inputs" }), typed(model.inputs),
    element("h2", { text: "Outputs" }), typed(model.outputs),
    element("h2", { text: "Options" }),
    element("div", { class: "wide" }, element("table", {}, element("tbody", {},
      Object.entries(model.options).map(([name, value]) => element("tr", {},
        element("th", { scope: "row", text: name }),
        element("td", { text: worded(value) })))))),
    model.persistent.length ? element("h2", { text: "Persistent kernels" }) : "",
    ...model.persistent.map((item) => element("details", { class: "group" },
      element("summary", {}, element("strong", { text: kernels[item.kernel].name }),
        ` runs dispatches ${item.first} to ${item.end - 1} in one launch`),
      sourceOf(kernels[item.kernel]))),
    element("h2", { text: "File" }),
    facts([["fingerprint", model.fingerprint], ["compiled by", `tflgpu ${model.compiler}`],
      profile ? ["measured on", profile.device] : null]));
}
