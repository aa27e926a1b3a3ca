// Runs before the first paint, so that a dark page never flashes white: the reader's own choice, else the system's.
(() => {
  let kept = null;
  try {
    kept = localStorage.getItem("quickstudy-theme");
  } catch {
    // Storage may be forbidden.
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = kept === "light" || kept === "dark" ? kept : system;
})();
