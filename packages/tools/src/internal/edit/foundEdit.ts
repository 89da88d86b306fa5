/** Tells from a file whether a text in it was replaced. After a crash, nothing else is known about an edit. */
import { asBytes, lineNumbers, places } from "./replaceText.ts"

/** Whether an edit was made; if so, the lines of the new text. */
export type FoundEdit =
  | { readonly state: "made"; readonly lines: ReadonlyArray<number> }
  | { readonly state: "open" | "unknown" }

const flat = (text: string): string => text.replaceAll("\r\n", "\n")

const same = (text: string): string => text

/** Checks the file. If the old text is a part of the new one, it only counts where the new one does not surround it. */
export const foundEdit = (
  file: Uint8Array,
  { newString, oldString }: { readonly oldString: string; readonly newString: string }
): FoundEdit => {
  // Line ends only matter if they are the whole change.
  const form = flat(oldString) === flat(newString) ? same : flat
  const text = form(Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("latin1"))
  const fresh = places(text, form(asBytes(newString))).apart
  let at = 0
  const isOpen = places(text, form(asBytes(oldString))).apart.some(({ from, to }) => {
    for (let around = fresh[at]; around !== undefined && around.to < to; around = fresh[at]) at++
    return (fresh[at]?.from ?? Number.POSITIVE_INFINITY) > from
  })
  if (isOpen) return { state: "open" }
  return newString === "" || fresh.length > 0
    ? { state: "made", lines: lineNumbers(text, fresh) }
    : { state: "unknown" }
}
