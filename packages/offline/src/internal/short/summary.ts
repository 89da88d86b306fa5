/** Writes the summary of a session from its digest. */

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
export const summaryOf = (digest: string): string => {
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
