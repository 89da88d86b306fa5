/** Separates reasoning that a local model writes between `<think>` tags at the start of its answer. */

const opening = "<think>"
const closing = "</think>"

/** How much is held back before the first word, in characters. */
const longestStart = 1_000

/** The longest end of a text that may be the beginning of a tag. */
const partial = (text: string, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}

/** Splits the deltas of one answer. It holds back what may be a tag, until it knows. */
export const makeThinkTag = (say: (kind: "text" | "reasoning", delta: string) => void) => {
  let state: "start" | "inside" | "gap" | "after" = "start"
  let held = ""
  const tell = (kind: "text" | "reasoning", delta: string) => {
    if (delta !== "") say(kind, delta)
  }
  /** Begins the text behind the reasoning, without the blank lines between them. */
  const begin = (delta: string): void => {
    const words = delta.trimStart()
    state = words === "" ? "gap" : "after"
    tell("text", words)
  }
  const push = (delta: string): void => {
    if (state === "after") return tell("text", delta)
    if (state === "gap") return begin(delta)
    held += delta
    if (state === "start") {
      const words = held.trimStart()
      if (held.length < longestStart && words.length < opening.length && opening.startsWith(words)) return
      state = words.startsWith(opening) ? "inside" : "after"
      if (state === "after") return flush()
      held = words.slice(opening.length)
    }
    const end = held.indexOf(closing)
    if (end >= 0) {
      tell("reasoning", held.slice(0, end))
      const rest = held.slice(end + closing.length)
      held = ""
      return begin(rest)
    }
    const open = held.length - partial(held, closing)
    tell("reasoning", held.slice(0, open))
    held = held.slice(open)
  }
  /** Tells what is held back. */
  const flush = (): void => {
    const rest = held
    held = ""
    tell(state === "inside" ? "reasoning" : "text", rest)
  }
  return { push, flush }
}
