// What is selected: a node of a graph, a block, or a tensor. The address of the page follows it.

const selection = (() => {
  const listeners = [];
  let current = null;

  function repeat() {
    for (const listener of listeners) listener(current);
  }

  function select(id) {
    current = id;
    history.replaceState(null, "", id ? `#${id}` : location.pathname + location.search);
    repeat();
  }

  return {
    select,
    /** Tell all listeners again, of which some are new. */
    repeat,
    get current() { return current; },
    /** Call a function with the name of whatever is selected from now on; null for nothing. */
    watch: (listener) => listeners.push(listener),
  };
})();
