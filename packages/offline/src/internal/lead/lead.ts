/** The root agent: lists the tree, starts a subagent for each part, and joins their reports. */
import { type Brief, familiesOf, readBrief, writeBrief } from "../brief.ts"
import type { Call, Turn } from "../conversation.ts"
import { readIntroduction, readManifest } from "../facts/facts.ts"
import { conclude } from "../findings.ts"
import { gather, type Gathered } from "../gathered.ts"
import { isManifest } from "../language.ts"
import { lookAround, lookCloser, mostRounds, unseen } from "../looking/exploring.ts"
import { type Module, modulesOf, ownerIndex } from "../modules.ts"
import { readPart, writePart } from "../partReport.ts"
import { partsOf } from "../parts.ts"
import { disclaimer, type Missing, writeReport } from "../report/report.ts"
import type { Decision, PlannedCall, Toolbox } from "../toolbox.ts"
import { questionOf } from "../words.ts"
import { isNotification, readNotifications, readTask, type TaskAnswer } from "./answers.ts"
import { discover } from "./discovery.ts"

const topReads = (files: ReadonlyArray<string>, tools: Toolbox): ReadonlyArray<PlannedCall> =>
  files.filter((file) => !file.includes("/") && (isManifest(file) || /^readme(\.(md|rst|txt))?$/i.test(file)))
    .flatMap((file) => tools.read(file, isManifest(file) ? undefined : 60))

interface Outcome {
  readonly parts: ReadonlyArray<NonNullable<ReturnType<typeof readPart>>>
  readonly missing: ReadonlyArray<Missing>
  readonly others: ReadonlyArray<{ readonly label: string; readonly text: string }>
}

/** Reads the results of the subagents. */
const outcomesOf = (tasks: ReadonlyArray<Call>): Outcome =>
  outcomeOf(tasks.map((call) => {
    const prompt = call.input["prompt"]
    const description = call.input["description"]
    const label = (typeof prompt === "string" ? readBrief(prompt)?.label : undefined)
      ?? (typeof description === "string" ? description : "subagent")
    const answer = call.output === undefined
      ? { state: "unknown", reason: "no result came back", text: "" }
      : readTask(call.output.text, call.output.failed)
    return { label, ...answer }
  }))

const outcomeOf = (answers: ReadonlyArray<TaskAnswer & { readonly label: string }>): Outcome => {
  const read = answers.map((answer) => ({ answer, part: readPart(answer.text) }))
  return {
    parts: read.flatMap(({ part }) => (part === undefined ? [] : [part])),
    missing: answers.flatMap(({ label, reason, state }) => (state === "completed" ? [] : [{ label, state, reason }])),
    others: read.flatMap(({ answer, part }) =>
      part === undefined && answer.text !== "" ? [{ label: answer.label, text: answer.text }] : []
    )
  }
}

/** The whole project as one part, for an agent that cannot delegate. */
const wholeBrief = (modules: ReadonlyArray<Module>, prompt: string): Brief => ({
  label: "the project",
  modules,
  all: modules.map((module) => module.path),
  families: familiesOf(modules),
  words: questionOf(prompt).words
})

const later = (turn: Turn): ReadonlyArray<string> =>
  turn.later.filter((text) => !text.startsWith("<")).map((text) =>
    `A message that came while the survey ran was not acted on, as it follows no instructions: ${text.slice(0, 120)}`
  )

const report = (
  turn: Turn,
  found: Gathered,
  modules: ReadonlyArray<Module>,
  outcome: Outcome,
  sent: number,
  notes: ReadonlyArray<string>
): string => {
  const top = [...found.reads].filter(([path]) => !path.includes("/"))
  const own = top.flatMap(([path, lines]) => readManifest(path, lines) ?? [])
  const readme = top.find(([path]) => !isManifest(path) && /^readme/i.test(path))
  const introduction = readme === undefined ? undefined : readIntroduction(readme[1])
  return writeReport({
    question: questionOf(turn.prompt),
    modules,
    parts: outcome.parts,
    files: found.files,
    manifests: own,
    title: introduction?.title,
    introduction: introduction?.text,
    sent,
    missing: outcome.missing,
    others: outcome.others,
    notes: [...found.notes, ...notes, ...later(turn)]
  })
}

/** Reports results of tasks that the survey did not start. */
const retell = (outcome: Outcome): string =>
  [
    disclaimer,
    ...outcome.others.map((other) => `## ${other.label}\n\n${other.text.replace(disclaimer, "").trim()}`),
    ...outcome.parts.map(writePart),
    ...outcome.missing.map((each) => `## ${each.label}\n\nNo full report (${each.state}): ${each.reason}`)
  ].join("\n\n")

/** Decides the next step of an agent that surveys a whole project. */
export const leadSurvey = (turn: Turn, tools: Toolbox): Decision => {
  const calls = turn.rounds.flat()
  const tasks = calls.filter((call) => call.name === "task")
  const say = (text: string): Decision => ({ text, calls: [] })
  const found = gather(calls, tools.directory, [])
  const looked = calls.some((call) => call.name !== "task")
  if (tasks.length > 0) {
    const outcome = outcomesOf(tasks)
    const { notes } = discover(turn.rounds, tools)
    return say(looked ? report(turn, found, modulesOf(found.files), outcome, tasks.length, notes) : retell(outcome))
  }
  if (calls.length === 0 && isNotification(turn.prompt)) return say(retell(outcomeOf(readNotifications(turn.prompt))))
  const discovery = discover(turn.rounds, tools)
  if (discovery.next.length > 0) {
    const [first] = turn.rounds
    return {
      text: first === undefined
        ? "Looking at the directory."
        : "The tree is large: looking into its folders one by one.",
      calls: discovery.next
    }
  }
  if (turn.rounds.length === 0) {
    const delegated = tools.task("Survey of the project", turn.prompt === "" ? "Survey this project." : turn.prompt)
    return delegated.length > 0
      ? { text: "Sending a subagent that can look at files.", calls: delegated }
      : say(
        `${disclaimer}\n\nNo tool is offered that shows files, so there is nothing to report on: ${
          turn.prompt.slice(0, 200)
        }`
      )
  }
  const modules = modulesOf(found.files)
  if (modules.length === 0) {
    const why = found.notes.length === 0
      ? "The directory holds no files."
      : found.notes.map((note) => `- ${note}`).join("\n")
    return say(`${disclaimer}\n\n# Nothing to survey\n\n${why}`)
  }
  const rounds = turn.rounds.slice(discovery.rounds)
  const words = questionOf(turn.prompt).words
  if (rounds.length === 0 && tools.offers("task")) {
    const parts = partsOf(modules)
    const sent = parts.flatMap((part) => tools.task(`Survey of ${part.label}`, writeBrief(part, modules, words)))
    return {
      text: `${found.files.length} files in ${modules.length} modules: ${
        sent.length === 1 ? "one subagent surveys them" : `${sent.length} subagents survey one part each`
      }.`,
      calls: [...topReads(found.files, tools), ...sent]
    }
  }
  const brief = wholeBrief(modules, turn.prompt)
  const closer = rounds.length === 0
    ? [...topReads(found.files, tools), ...lookAround({ ...brief, modules: [{ path: "./", files: [] }] }, tools, true)]
    : rounds.length < mostRounds
    ? lookCloser(brief, tools, rounds, found.files, ownerIndex(brief.all))
    : []
  if (closer.length > 0) {
    return { text: rounds.length === 0 ? "Surveying the files." : "Reading what tells most.", calls: closer }
  }
  const part = conclude(brief, found, unseen(brief, tools, rounds.flat(), found.files))
  return say(report(turn, found, modules, { parts: [part], missing: [], others: [] }, 0, discovery.notes))
}
