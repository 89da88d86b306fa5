import type { ModelRequest } from "@skein/core/Provider"

const longestTitle = 50

/** A title of at most 50 characters. */
const titleOf = (prompt: string): string => {
  const words = prompt.replace(/[\s\p{C}]+/gu, " ").replace(/["`]/g, "").trim().split(" ").slice(0, 8)
  let title = ""
  for (const word of words) {
    const longer = title === "" ? word : `${title} ${word}`
    if ([...longer].length > longestTitle) break
    title = longer
  }
  const cut = title === "" ? [...(words[0] ?? "")].slice(0, longestTitle).join("") : title
  return cut.replace(/[\s.,;:!?]+$/, "") || "Survey"
}

/** How much to keep of each entry, and in all, in characters. */
const ofEach = 160
const ofAll = 4_000

/** The entries of a conversation, one line each. If there are too many, the newest. */
const digestOf = (conversation: string): string => {
  const lines = conversation.split(/\n\n(?=(?:User|Agent|Note|Summary of what came before): ?)/)
    .map((entry) => [...entry.replaceAll(/\s+/g, " ").trim()].slice(0, ofEach).join(""))
  let left = ofAll
  const kept = lines.toReversed().filter((line) => (left -= line.length) >= 0).toReversed()
  return [`By fixed rules, the beginning of what was said in ${kept.length} messages:`, ...kept].join("\n")
}

/** The lines of each section. `Last answer` is the last section and takes the rest. */
const sectionsOf = (digest: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const [facts = "", answer = ""] = digest.split(/^Last answer:$/m, 2)
  const sections = new Map<string, ReadonlyArray<string>>([["Last answer", answer.trim().split("\n")]])
  let name = ""
  for (const line of facts.split("\n")) {
    if (line.startsWith("- ")) sections.set(name, [...sections.get(name) ?? [], line.slice(2)])
    else name = line.replace(/:$/, "")
  }
  return sections
}

const shortened = (text: string, longest: number): string => {
  const characters = [...text]
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("").trimEnd()}…`
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

/** The first few, and the number of others. */
const some = (items: ReadonlyArray<string>, most: number): string =>
  items.length <= most
    ? items.join(", ")
    : `${items.slice(0, most).join(", ")} and ${items.length - most} more`

/** A summary of a few lines. */
const summaryOf = (digest: string): string => {
  const sections = sectionsOf(digest)
  const of = (name: string) => sections.get(name) ?? []
  const files = of("Files changed").filter((line) => line !== "none").map((line) => line.replace(/ \([^()]*\)$/, ""))
  const tasks = of("Tasks of subagents")
  const open = of("Open todos").map((line) => line.replace(/ \((?:pending|in_progress)\)$/, ""))
  const asked = of("Asked").at(-1)
  const answer = of("Last answer").find((line) => line.trim() !== "")
  return [
    asked === undefined ? "Nothing was asked." : `Asked: ${shortened(asked, 90)}`,
    files.length === 0 ? "No files were changed." : `Changed ${counted(files.length, "file")}: ${some(files, 8)}.`,
    ...(tasks.length === 0 ? [] : [`${counted(tasks.length, "task")} of subagents.`]),
    ...(open.length === 0 ? [] : [`Open: ${some(open.map((todo) => shortened(todo, 80)), 5)}.`]),
    ...(answer === undefined ? [] : [`Answered: ${shortened(answer.trim(), 160)}`])
  ].join("\n")
}

/** The answer to such a request; undefined for a turn. */
export const shorten = (purpose: ModelRequest["origin"]["purpose"], prompt: string): string | undefined => {
  switch (purpose) {
    case "title":
      return titleOf(prompt)
    case "summary":
      return summaryOf(prompt)
    case "compaction":
      return digestOf(prompt)
    case "turn":
      return undefined
  }
}
