/** Lets the thread do something else, such as paint or take a message, before it goes on. */
export function breathe(): Promise<void> {
  if (typeof MessageChannel === "undefined") {
    return new Promise((resolve) => setTimeout(resolve, 0));
  }
  // Timers are held back in hidden pages, and by 4 ms in nested calls; messages are not.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
