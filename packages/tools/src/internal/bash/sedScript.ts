/** Recognises sed scripts that only print, substitute and delete: sed can also write files and run commands. */

/** The rest of a script after one piece; `undefined` if there is no such piece. */
type Rest = string | undefined

/** Skips text up to a delimiter without a backslash before it. */
const upTo = (text: string, delimiter: string): Rest => {
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at)
    // If brackets contain a delimiter, programs disagree about where the text ends.
    if (sign === "\n" || (sign === "[" && text.slice(at, text.indexOf("]", at + 2) + 1).includes(delimiter))) {
      return undefined
    }
    if (sign === "\\") at++
    else if (sign === delimiter) return text.slice(at + 1)
  }
  return undefined
}

const address = (text: string): Rest => {
  const number = /^(?:\d+(?:~\d+)?|\$)/.exec(text)
  if (number !== null) return text.slice(number[0].length)
  const rest = text.startsWith("/") ? upTo(text.slice(1), "/") : undefined
  return rest?.replace(/^[IM]+/, "")
}

const addresses = (text: string): Rest => {
  const first = address(text)
  if (first === undefined) return text
  const comma = /^\s*,\s*[+~]?/.exec(first)
  return comma === null ? first : address(first.slice(comma[0].length))
}

/** `s` and `y`: two texts between delimiters. `s` may have flags that only select what is replaced and printed. */
const replacement = (text: string, flags: RegExp): Rest => {
  const delimiter = text.charAt(0)
  if (delimiter === "" || /[\s\\\w]/.test(delimiter)) return undefined
  const first = upTo(text.slice(1), delimiter)
  const second = first === undefined ? undefined : upTo(first, delimiter)
  return second?.replace(flags, "")
}

const piece = (text: string): Rest => {
  const rest = addresses(text)?.replace(/^\s*!?\s*/, "") ?? ""
  const name = rest.charAt(0)
  if (name === "s") return replacement(rest.slice(1), /^[gpiI0-9]*/)
  if (name === "y") return replacement(rest.slice(1), /^/)
  if ("qQ".includes(name) && name !== "") return rest.slice(1).replace(/^\s*\d*/, "")
  return "pdDnNgGhHxPl=".includes(name) && name !== "" ? rest.slice(1) : undefined
}

/** Whether a script only reads its input and writes to its output. */
export const isReadingScript = (script: string): boolean => {
  let rest = script.replace(/^[\s;]+/, "")
  while (rest !== "") {
    const left = piece(rest)
    if (left === undefined || !/^\s*(?:[;\n]|$)/.test(left)) return false
    rest = left.replace(/^[\s;]+/, "")
  }
  return true
}
