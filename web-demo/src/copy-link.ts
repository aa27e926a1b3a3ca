/** Copies the address, which names every choice, and says how that went. */
export async function copyLink(tell: (text: string) => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    tell("The link is copied: it holds every choice.");
  } catch {
    tell("The browser keeps its clipboard to itself; the address bar has the same link.");
  }
}
