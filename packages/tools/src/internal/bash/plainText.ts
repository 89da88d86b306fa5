/** Decides what a part of a word says, and whether that is known before the line runs. */
import type { WordPart } from "unbash"

/** Escapes of `$'…'` that mean the same in every shell and locale. */
const plainAnsi = /^\$'(?:[^\\]|\\(?:[\\'"?abefnrtv]|x[2-7][0-9A-Fa-f]))*'$/

/** Unquoted text in which the shell looks for file names, or which it splits. */
export const isPattern = (source: string): boolean => {
  const bare = source.replace(/\\[^]/g, "")
  return /[*?[]/.test(bare) || (bare.includes("{") && (bare.includes(",") || bare.includes("..")))
}

/**
 * The text of `$(cat <<'EOF' … )` if nothing else is called `cat`: this is a common way to pass a message of several
 * lines. It is plain text only within double quotes.
 */
export const documentIn = (part: WordPart): string | undefined => {
  if (part.type !== "CommandExpansion") return undefined
  const [only, ...others] = part.script?.commands ?? []
  if (only?.command.type !== "Command" || others.length > 0 || only.background === true) return undefined
  const { name, prefix, suffix } = only.command
  const [document, ...rest] = suffix
  if (name?.text !== "cat" || prefix.length > 0 || rest.length > 0 || document?.type !== "HereDoc") return undefined
  const { body, closing, delimiter, descriptor, operator } = document
  const isPlain = operator === "<<" && descriptor === undefined && delimiter?.quoted === true && closing !== undefined
  return isPlain ? body.text.replace(/\n+$/, "") : undefined
}

const isText = (part: WordPart): boolean => part.type === "Literal" || documentIn(part) !== undefined

export const isFixed = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
      return !isPattern(part.text)
    case "SingleQuoted":
      return true
    case "AnsiCQuoted":
      return plainAnsi.test(part.text)
    case "DoubleQuoted":
      return part.parts.every(isText)
    default:
      return false
  }
}

/** The text of a part of a word, if the shell passes on exactly that. */
export const plainText = (part: WordPart): string | undefined => {
  if (!isFixed(part)) return undefined
  if (part.type === "DoubleQuoted") {
    return part.parts.map((each) => each.type === "Literal" ? each.value : documentIn(each) ?? "").join("")
  }
  return "value" in part ? part.value : undefined
}
