/** Makes the title of a conversation from the first words of its prompt. */

const longest = 50

/** A title of at most 50 characters. */
export const titleOf = (prompt: string): string => {
  const words = prompt.replace(/[\s\p{C}]+/gu, " ").replace(/["`]/g, "").trim().split(" ").slice(0, 8)
  let title = ""
  for (const word of words) {
    const longer = title === "" ? word : `${title} ${word}`
    if ([...longer].length > longest) break
    title = longer
  }
  const cut = title === "" ? [...(words[0] ?? "")].slice(0, longest).join("") : title
  return cut.replace(/[\s.,;:!?]+$/, "") || "Survey"
}
