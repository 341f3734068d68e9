// Making elements of the page.

/**
 * An element with attributes and children. `text` sets its text, a function is a listener, and
 * attributes that are null or false are left out.
 */
function element(tag, attributes = {}, ...children) {
  const made = tag === "svg" || SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG_TAGS = new Set(["g", "line", "rect", "text", "title"]);

/** A heading, then a list of facts: [name, value] with a text or an element as the value. */
function facts(rows) {
  return element("dl", { class: "facts" }, rows.filter(Boolean).map(([name, value]) =>
    element("div", {}, element("dt", { text: name }), element("dd", {}, value))));
}

/** A button that selects a node or a tensor, and goes to its details. */
function link(id, text) {
  return element("button", {
    class: "link", type: "button",
    click: (event) => {
      event.stopPropagation();
      selection.select(id);
      details.enter();
    },
  }, text);
}

/** The source of a kernel. */
function sourceOf(kernel) {
  const code = element("code", {});
  // The compiler has escaped the source; its spans are the only markup.
  code.innerHTML = kernel.source;
  return element("pre", { class: "source", tabindex: "0", "aria-label": kernel.file }, code);
}
