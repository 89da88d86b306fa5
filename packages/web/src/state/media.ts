/** Knows how much room there is. */
import { signal } from "@preact/signals"

const query = (text: string) => {
  const list = matchMedia(text)
  const matches = signal(list.matches)
  list.addEventListener("change", (event) => matches.value = event.matches)
  return matches
}

/** Whether there is only room for one column with rows of two lines. */
export const isNarrow = query("(max-width: 760px)")

/** Whether the transcript of the selected agent has room beside the tree. */
export const isWide = query("(min-width: 1200px)")
