// Runs before the first paint, so that a dark page never flashes white: what the address asks for, the reader's own
// choice, else the system's. What is embedded is never seen whole.
(() => {
  const given = [location.search, location.hash.slice(1)].map((text) => new URLSearchParams(text));
  const asked = (name) => given.map((words) => words.get(name)).find((word) => word !== null);
  if (asked("embed") === "1") document.documentElement.dataset.embed = "";
  let kept = asked("theme") ?? null;
  try {
    kept ??= localStorage.getItem("quickstudy-theme");
  } catch {
    // Storage may be forbidden.
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = kept === "light" || kept === "dark" ? kept : system;
})();
