/** The short answers that a session asks of a model beside its turns: a title, a summary, a shorter conversation. */
import type { ModelRequest } from "@skein/core/Provider"
import { oneLine } from "./toolbox.ts"

/** A title of at most 50 characters. */
const titleOf = (prompt: string): string => {
  const words = prompt.replace(/[\s\p{C}]+/gu, " ").replace(/["`]/g, "").trim().split(" ").slice(0, 8)
  const lengths = words.map((_, at) => words.slice(0, at + 1).join(" ")).filter((text) => [...text].length <= 50)
  const title = lengths.at(-1) ?? [...(words[0] ?? "")].slice(0, 50).join("")
  return title.replace(/[\s.,;:!?]+$/, "") || "Survey"
}

/** How much to keep of each entry of a conversation, and in all, in characters. */
const kept = { each: 160, all: 4_000 }

/** The entries of a conversation, one line each. If there are too many, the newest. */
const digestOf = (conversation: string): string => {
  let left = kept.all
  const lines = conversation.split(/\n\n(?=(?:User|Agent|Note|Summary of what came before): ?)/)
    .map((entry) => [...entry.replaceAll(/\s+/g, " ").trim()].slice(0, kept.each).join(""))
    .toReversed().filter((line) => (left -= line.length) >= 0).toReversed()
  return [`By fixed rules, the beginning of what was said in ${lines.length} messages:`, ...lines].join("\n")
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

const some = (items: ReadonlyArray<string>, most: number): string =>
  `${items.slice(0, most).join(", ")}${items.length > most ? ` and ${items.length - most} more` : ""}`

/** A summary of a few lines. In its prompt, `Last answer` is the last section. */
const summaryOf = (prompt: string): string => {
  const [facts = "", answer = ""] = prompt.split(/^Last answer:$/m, 2)
  const under = (name: string): ReadonlyArray<string> =>
    (facts.split(/^(?!- )(?=.*:$)/m).find((each) => each.startsWith(`${name}:`)) ?? "").split("\n")
      .flatMap((line) => (line.startsWith("- ") && line !== "- none" ? [line.slice(2)] : []))
  const files = under("Files changed").map((line) => line.replace(/ \([^()]*\)$/, ""))
  const tasks = under("Tasks of subagents")
  const open = under("Open todos").map((line) => oneLine(line.replace(/ \((?:pending|in_progress)\)$/, ""), 80))
  const asked = under("Asked").at(-1)
  const said = answer.split("\n").find((line) => line.trim() !== "")
  return [
    asked === undefined ? "Nothing was asked." : `Asked: ${oneLine(asked, 90)}`,
    files.length === 0 ? "No files were changed." : `Changed ${counted(files.length, "file")}: ${some(files, 8)}.`,
    ...(tasks.length === 0 ? [] : [`${counted(tasks.length, "task")} of subagents.`]),
    ...(open.length === 0 ? [] : [`Open: ${some(open, 5)}.`]),
    ...(said === undefined ? [] : [`Answered: ${oneLine(said, 160)}`])
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
