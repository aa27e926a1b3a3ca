/** Saves bytes as a file of the reader's. */
export function download(bytes: Uint8Array, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A file that was picked. Its name is for showing only. */
export interface Picked {
  name: string;
  bytes: Uint8Array;
}

/** Reads what a file input was given, and makes it ready for the same file again. */
export async function picked(input: HTMLInputElement): Promise<Picked | undefined> {
  const file = input.files?.[0];
  if (!file) {
    return undefined;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  input.value = "";
  return { name: file.name, bytes };
}
