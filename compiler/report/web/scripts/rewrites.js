// The view of the rewrites, grouped by pass and, where declined, by reason.

function showRewrites(view) {
  for (const [title, applied] of [["Applied", true], ["Declined", false]]) {
    const groups = new Map();
    for (const item of rewrites.filter((rewrite) => rewrite.applied === applied)) {
      const key = `${item.pass}\n${item.reason}`;
      if (!groups.has(key)) groups.set(key, { ...item, all: [] });
      groups.get(key).all.push(item);
    }
    view.append(element("h2", { text: title }));
    if (!groups.size) view.append(element("p", { class: "faint", text: "None." }));
    for (const group of groups.values()) {
      view.append(element("details", { class: "group" },
        element("summary", {}, element("strong", { text: group.pass }),
          element("span", { class: "count", text: group.all.length }),
          group.reason ? element("span", { class: "faint", text: group.reason }) : null),
        element("ul", { class: "columns" }, group.all.map(oneRewrite))));
    }
  }

  function oneRewrite(item) {
    const name = item.indices.map((index) =>
      (nodes.has(`operator${index}`) ? `operator${index}` : stepsOf.get(index)?.[0])).find(Boolean);
    const text = item.operators.join(" + ");
    return element("li", {}, name ? link(name, text) : text);
  }
}
