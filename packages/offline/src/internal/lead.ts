/** How the agent that was asked surveys a project: it lists the files, sends subagents, and puts their reports together. */
import { briefOf, explore, gather, listFiles, readBrief, readPart, type Statement, writeBrief } from "./explore.ts"
import { isManifest, modulesOf, partsOf } from "./project.ts"
import { asksForEntry, wordsOf } from "./question.ts"
import { readIntroduction, readManifest } from "./reading.ts"
import { disclaimer, type Missing, type Quoted, writeReport } from "./report.ts"
import { type Call, type Decision, inputOf, type Toolbox, type Turn } from "./toolbox.ts"

/** The answer of a subagent. */
interface TaskAnswer {
  readonly label: string
  /** `completed`, another outcome, `background`, or `refused` if no subagent started. */
  readonly state: string
  /** Why it did not complete; empty if it did. */
  readonly reason: string
  /** Its conclusion, perhaps partial. */
  readonly text: string
}

const unescape = (text: string): string =>
  text.replace(/&lt;(?=\/?(task_result|task_error|task-notification|task_metadata))/gi, "<").trim()

const block = (output: string, tag: string): string | undefined => {
  const [, , rest] = output.split(new RegExp(`(<${tag}>)([^]*)`))
  const end = rest?.indexOf(`</${tag}>`) ?? -1
  return rest === undefined || end < 0 ? undefined : unescape(rest.slice(0, end))
}

const readTask = (call: Call): TaskAnswer => {
  const { failed, text: output } = call.output ?? { failed: true, text: "no result" }
  const label = readBrief(inputOf(call, "prompt"))?.label ?? (inputOf(call, "description") || "a subagent")
  if (output.startsWith("Background task accepted")) {
    return { label, state: "background", reason: "it was moved to the background and had not settled yet", text: "" }
  }
  const state = /^state: (\S+)/m.exec(output.split(/<task_(?:result|error)>/, 1)[0] ?? "")?.[1]
  const text = block(output, "task_result")
  if (!failed && state === undefined) return { label, state: "completed", reason: "", text: text ?? output.trim() }
  const reason = block(output, "task_error") || output.trim().split("\n")[0] || "no reason given"
  return { label, state: state ?? "refused", reason: reason.replace(/\s+/g, " "), text: text ?? "" }
}

/** Reads notifications of background tasks. */
const readNotifications = (text: string): ReadonlyArray<TaskAnswer> =>
  [...text.matchAll(/<task-notification\b[^>]*?status="([^"]*)"[^>]*>([^]*?)<\/task-notification>/g)].map((match) => {
    const [, state = "unknown", body = ""] = match
    const after = /^(?:Result|Partial result):\n([^]*?)(?:\n\nAnalyze this |$(?![^]))/m.exec(body)?.[1] ?? ""
    return {
      label: /^Task Description: (.*)$/m.exec(body)?.[1] ?? "background task",
      state,
      reason: /^Error: (.*)$/m.exec(body)?.[1] ?? "",
      text: unescape(after)
    }
  })

interface Outcome {
  readonly parts: ReadonlyArray<{ readonly label: string; readonly facts: ReadonlyArray<Statement> }>
  readonly missing: ReadonlyArray<Missing>
  readonly quoted: ReadonlyArray<Quoted>
}

/** Sorts the answers: reports, what has none, and other texts, such as another model's. */
const outcomeOf = (answers: ReadonlyArray<TaskAnswer>): Outcome => ({
  parts: answers.flatMap(({ label, text }) => {
    const facts = readPart(text)
    return facts === undefined ? [] : [{ label, facts }]
  }),
  missing: answers.filter(({ state, text }) => state !== "completed" || text === "")
    .map((each) => (each.state === "completed" ? { ...each, reason: "it answered nothing" } : each)),
  quoted: answers.filter(({ text }) => text !== "" && readPart(text) === undefined)
})

/** Results of tasks that the survey did not start. */
const retell = (answers: ReadonlyArray<TaskAnswer>): string =>
  [
    disclaimer,
    ...answers.map(({ label, reason, state, text }) =>
      `## ${label}\n\n${text.replace(disclaimer, "").trim() || `No report (${state}): ${reason}`}`
    )
  ].join("\n\n")

const say = (text: string): Decision => ({ text, calls: [] })

/** Decides the next step. */
export const leadSurvey = (turn: Turn, tools: Toolbox): Decision => {
  const { calls, prompt } = turn
  const tasks = calls.filter((call) => call.name === "task")
  if (calls.length === 0 && prompt.startsWith("<task-notification")) return say(retell(readNotifications(prompt)))
  if (tasks.length > 0 && tasks.length === calls.length) return say(retell(tasks.map(readTask)))
  const found = gather(calls)
  const listing = listFiles([""], calls, tools)
  if (calls.length === 0 && !tools.offers("glob", "grep")) {
    const sent = tools.task("Survey of the project", prompt === "" ? "Survey this project." : prompt)
    return sent.length > 0
      ? { text: "Sending a subagent that can look at files.", calls: sent }
      : say(
        `${disclaimer}\n\nGlob and grep are not both offered, so there is nothing to report on: ${prompt.slice(0, 200)}`
      )
  }
  if (tasks.length === 0 && listing.next.length > 0) {
    const isFirst = calls.length === 0
    const text = isFirst ? "Looking at the directory." : "The tree is large: looking into its folders one by one."
    return { text, calls: listing.next }
  }
  const modules = modulesOf(found.files)
  if (modules.length === 0) {
    const why = found.notes.map((note) => `- ${note}`).join("\n") || "The directory holds no files."
    return say(`${disclaimer}\n\n# Nothing to survey\n\n${why}`)
  }
  const words = wordsOf(prompt)
  const reads = found.files.filter((file) =>
    !file.includes("/") && (isManifest(file) || /^readme(\.(md|rst|txt))?$/i.test(file))
  )
    .flatMap((file) => found.reads.has(file) ? [] : tools.read(file, isManifest(file) ? undefined : 60))
  let outcome = outcomeOf(tasks.map(readTask))
  if (tasks.length === 0 && tools.offers("task")) {
    const parts = partsOf(modules)
    const text = `${found.files.length} files in ${modules.length} modules: ${
      parts.length === 1 ? "one subagent surveys them" : `${parts.length} subagents survey one part each`
    }.`
    const sent = parts.flatMap((part) =>
      tools.task(`Survey of ${part.label}`, writeBrief(briefOf(part, modules, words)))
    )
    return { text, calls: [...reads, ...sent] }
  }
  if (tasks.length === 0) {
    const alone = { ...briefOf({ label: "the project", modules }, modules, words), places: [{ path: "" }] }
    const step = explore(alone, calls, tools)
    const isRead = reads.every((read) => calls.some((call) => call.name === "read" && call.input === read.input))
    if ("next" in step) return { text: "Surveying the files.", calls: [...(isRead ? [] : reads), ...step.next] }
    outcome = { ...outcome, parts: [{ label: "", facts: step.conclusion }] }
  }
  const top = [...found.reads].filter(([path]) => !path.includes("/"))
  const readme = top.find(([path]) => /^readme/i.test(path))
  const late = turn.later.filter((text) => !text.startsWith("<")).map((text) =>
    `A message that came while the survey ran was not acted on, as it follows no instructions: ${text.slice(0, 120)}`
  )
  return say(writeReport({
    ...outcome,
    words,
    asksForEntry: asksForEntry(prompt),
    modules,
    files: found.files,
    manifests: top.flatMap(([path, lines]) => readManifest(path, lines) ?? []),
    introduction: readIntroduction(readme?.[1] ?? []),
    sent: tasks.length,
    notes: [...found.notes, ...listing.notes, ...late]
  }))
}
