// The view of memory: which bytes of the arena each tensor occupies, and when.

function showMemory(view) {
  const [WIDTH, HEIGHT] = [960, 360];
  const HUE = 137.5; // degrees between consecutive tensors, which keeps neighbours distinct
  const count = dispatches.length;
  const arena = contents.model.arena;
  const placed = tensors.map((tensor, index) => ({ ...tensor, id: `tensor${index}` }))
    .sort((a, b) => a.first - b.first || a.offset - b.offset);
  const inArena = placed.filter((tensor) => tensor.region === "arena" && tensor.size);
  const { memory } = contents.model;
  view.append(facts([
    ["intermediate tensors", format.bytes(memory.planned)],
    ["without sharing", format.bytes(memory.naive)],
    ["lower bound", format.bytes(memory.lower_bound)],
    ["weights", format.bytes(contents.model.weights)],
  ]));

  if (inArena.length && arena && count) drawMap();
  else view.append(element("p", { text: "There are no intermediate tensors." }));
  drawTable();

  function drawMap() {
    const [across, up] = [WIDTH / count, HEIGHT / arena];
    const boxes = inArena.map((tensor, index) => {
      const first = Math.max(tensor.first, 0);
      const last = Math.max(Math.min(tensor.last, count - 1), first);
      return element("rect", {
        "data-id": tensor.id, class: "tensor", x: first * across,
        y: HEIGHT - (tensor.offset + tensor.size) * up,
        width: (last - first + 1) * across, height: Math.max(tensor.size * up, 0.6),
        style: `--hue: ${(index * HUE) % 360}`,
      }, element("title", { text:
        `${tensor.name}\n${format.shape(tensor.shape)}, ${format.bytes(tensor.size)}\n` +
        `alive from dispatch ${lifetime(tensor)}` }));
    });
    const now = element("line", { class: "now", y1: -4, y2: HEIGHT + 4 });
    const map = element("svg", {
      viewBox: `-64 -10 ${WIDTH + 76} ${HEIGHT + 44}`, role: "img",
      "aria-label": "The bytes of the arena that each tensor occupies, over the dispatches; the " +
        "table below has the same facts",
      click: (event) => event.target.dataset.id && selection.select(event.target.dataset.id),
    }, ticks(across), boxes, now,
    element("text", { class: "axis", x: WIDTH / 2, y: HEIGHT + 30, "text-anchor": "middle",
      text: "dispatch" }));
    const alive = element("ul", { class: "alive" });
    const told = element("output", { class: "faint" });
    const slider = element("input", {
      type: "range", min: 0, max: count - 1, value: 0, "aria-label": "Dispatch",
      input: () => at(Number(slider.value)),
    });

    function at(number) {
      now.setAttribute("x1", (number + 0.5) * across);
      now.setAttribute("x2", (number + 0.5) * across);
      const living = inArena.filter((tensor) => tensor.first <= number && number <= tensor.last)
        .sort((a, b) => b.size - a.size);
      const total = living.reduce((sum, tensor) => sum + tensor.size, 0);
      const names = contents.graphs.kernels.nodes.find((node) => node.id === `dispatch${number}`);
      told.replaceChildren(`At dispatch ${number}, `, link(names.id, short(names.title)),
        `, these tensors are alive, with ${format.bytes(total)}:`);
      alive.replaceChildren(...living.map((tensor) => element("li", {}, link(tensor.id, tensor.name),
        element("span", { class: "faint", text: ` ${format.bytes(tensor.size)}` }))));
    }

    selection.watch((id) => {
      map.querySelector(".chosen")?.classList.remove("chosen");
      boxes.find((box) => box.dataset.id === id)?.classList.add("chosen");
      if (id?.startsWith("dispatch")) {
        slider.value = id.slice(8);
        at(Number(slider.value));
      }
    });
    view.append(
      element("h2", { text: "The arena" }),
      element("p", { class: "faint" }, "All intermediate tensors share one buffer: dispatches run " +
        "from left to right, addresses from bottom to top."),
      map, slider, told, alive);
    at(0);
  }

  function ticks(across) {
    const step = Math.max(Math.ceil(count / 8), 1);
    const addresses = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => {
      const y = HEIGHT * (1 - part);
      return [element("line", { x1: 0, y1: y, x2: WIDTH, y2: y }),
        element("text", { x: -8, y: y + 4, "text-anchor": "end", text: format.bytes(Math.round(arena * part)) })];
    });
    const times = [];
    for (let number = 0; number < count; number += step) {
      times.push(element("text", {
        x: (number + 0.5) * across, y: HEIGHT + 6, "text-anchor": "middle",
        "dominant-baseline": "hanging", text: number }));
    }
    return [...addresses, ...times];
  }

  function drawTable() {
    const most = Math.max(...placed.map((tensor) => tensor.size), 1);
    const table = sortableTable("Tensors, by when they are written", [
      { title: "tensor", value: (row) => row.name, kind: "main", cell: (row) => link(row.id, row.name) },
      { title: "type", value: (row) => row.dtype },
      { title: "shape", value: (row) => format.shape(row.shape) },
      { title: "storage", value: (row) => row.storage },
      { title: "location", value: (row) => `${row.region} ${row.region === "arena"
        ? format.whole(row.offset) : row.index}` },
      { title: "size", number: true, value: (row) => row.size,
        cell: (row) => format.bytes(row.size), bar: (row) => row.size / most },
      { title: "alive", number: true, value: (row) => row.first, cell: lifetime },
    ], placed.map((tensor) => ({ ...tensor, words: `${tensor.name} ${tensor.storage} ${tensor.region}` })));
    view.append(element("h2", { text: "Tensors" }), tableFilter(table, "Filter tensors"), table.element);
  }
}
