import { type Brief, familiesOf, questionOf, readBrief, writeBrief } from "./brief.ts"
import { lookAround, lookCloser, mostRounds, unseen } from "./exploring.ts"
import { patterns, readIntroduction, readManifest } from "./facts.ts"
import { conclude, gather, type Gathered } from "./findings.ts"
import { folderOf, isIgnored, isManifest } from "./language.ts"
import { type Module, modulesOf, ownerIndex, partsOf } from "./modules.ts"
import { readPart, writePart } from "./partReport.ts"
import { disclaimer, type Missing, writeReport } from "./report.ts"
import {
  type Call,
  type Decision,
  isCut,
  notMade,
  type PlannedCall,
  readTree,
  type Toolbox,
  type Turn
} from "./toolbox.ts"

/** The answer of a subagent. */
interface TaskAnswer {
  /** `completed`, another outcome, `background`, or `refused` if no subagent started. */
  readonly state: string
  /** Why it did not complete; empty if it did. */
  readonly reason: string
  /** Its conclusion, perhaps partial. */
  readonly text: string
}

const unescape = (text: string): string =>
  text.replace(/&lt;(?=\/?(task_result|task_error|task-notification|task_metadata))/gi, "<")

const block = (output: string, tag: string): string => {
  const begin = output.indexOf(`<${tag}>`)
  const end = output.indexOf(`</${tag}>`, begin)
  return begin < 0 || end < 0 ? "" : unescape(output.slice(begin + tag.length + 2, end)).trim()
}

/** Reads the result of a task call. */
const readTask = (output: string, failed: boolean): TaskAnswer => {
  const head = output.slice(0, Math.max(0, output.search(/<task_(result|error)>/)))
  const state = /^state: (\S+)/m.exec(head)?.[1]
  const text = block(output, "task_result")
  if (output.startsWith("Background task accepted")) {
    return { state: "background", reason: "it was moved to the background and had not settled yet", text: "" }
  }
  if (!failed && state === undefined) {
    return text === "" && !output.includes("<task_result>")
      ? { state: "completed", reason: "", text: output.trim() }
      : { state: "completed", reason: "", text }
  }
  const reason = block(output, "task_error") ||
    (output.split("\n").find((line) => line.trim() !== "") ?? "no reason given")
  return { state: state ?? "refused", reason: reason.replace(/\s+/g, " "), text }
}

/** Whether a message is a notification of background tasks. */
const isNotification = (text: string): boolean => text.startsWith("<task-notification")

/** Reads notifications of background tasks. */
const readNotifications = (text: string): ReadonlyArray<TaskAnswer & { readonly label: string }> =>
  [...text.matchAll(/<task-notification\b[^>]*?status="([^"]*)"[^>]*>([^]*?)<\/task-notification>/g)].map((match) => {
    const [, state = "unknown", body = ""] = match
    const after = /^(?:Result|Partial result):\n([^]*?)(?:\n\nAnalyze this |$(?![^]))/m.exec(body)?.[1] ?? ""
    return {
      label: /^Task Description: (.*)$/m.exec(body)?.[1] ?? "background task",
      state,
      reason: /^Error: (.*)$/m.exec(body)?.[1] ?? "",
      text: unescape(after).trim()
    }
  })

const everything = "**/*"
/** Files directly in a folder. */
const beside = "./*"
const manifests = "**/{package.json,pyproject.toml,setup.py,go.mod}"

const firstLook = (tools: Toolbox): ReadonlyArray<PlannedCall> => {
  const look = [...tools.list(), ...tools.glob(everything), ...tools.glob(manifests)]
  return look.length === 0 ? tools.count(patterns.anyLine) : look
}

/** The maximum number of folders in one step, each with two calls: an answer may have 200. */
const mostFolders = 90

/** The maximum number of rounds before the survey continues with what it has. */
const mostListings = 4

const folderIn = (call: Call): string => (typeof call.input["path"] === "string" ? call.input["path"] : "")

const cutFolders = (calls: ReadonlyArray<Call>, pattern: string): ReadonlyArray<string> =>
  calls.filter((call) => call.name === "glob" && call.input["pattern"] === pattern)
    .filter((call) => call.output?.failed === false && isCut(call.output.text)).map(folderIn)

/** Folders to list one by one, because the listing of their parent was truncated. */
const foldersBelow = (
  cut: ReadonlyArray<string>,
  calls: ReadonlyArray<Call>,
  directory: string
): ReadonlyArray<string> => {
  if (cut.length === 0) return []
  const { files } = gather(calls, directory, [])
  const listed = calls.filter((call) => call.name === "list" && call.output?.failed === false)
    .map((call) => readTree(call.output?.text ?? "", directory))
  const known = new Set(listed.flatMap((tree) => tree.folders))
  for (const file of [...files, ...listed.flatMap((tree) => tree.files)]) {
    for (let folder = folderOf(file); folder !== "" && !known.has(folder); folder = folderOf(folder)) {
      known.add(folder)
    }
  }
  return cut.flatMap((top) =>
    [...known].filter((folder) => folder !== "" && folderOf(folder) === top && !isIgnored(`${folder}/`))
  ).toSorted()
}

/** Without glob, folders that list did not open are listed on their own. */
const closedFolders = (calls: ReadonlyArray<Call>, directory: string): ReadonlyArray<string> =>
  calls.filter((call) => call.name === "list" && call.output?.failed === false)
    .flatMap((call) => readTree(call.output?.text ?? "", directory).closed)
    .filter((folder) => !isIgnored(`${folder}/`))

/** The state of the search for files. */
interface Discovery {
  /** The calls of the next round; empty once the files are known. */
  readonly next: ReadonlyArray<PlannedCall>
  /** The number of rounds so far. */
  readonly rounds: number
  readonly notes: ReadonlyArray<string>
}

/** Replays the rounds so far, and decides the next one. */
const discover = (rounds: ReadonlyArray<ReadonlyArray<Call>>, tools: Toolbox): Discovery => {
  if (rounds.length === 0) return { next: firstLook(tools), rounds: 0, notes: [] }
  const notes: Array<string> = []
  const hidden = (folders: ReadonlyArray<string>): void => {
    for (const folder of folders) {
      notes.push(`Not all files ${folder === "" ? "" : `in ${folder} `}were listed: there are more than were counted.`)
    }
  }
  for (let round = 1;; round++) {
    const made = rounds[round - 1] ?? []
    const cut = cutFolders(made, everything)
    hidden(cutFolders(made, beside))
    const closed = tools.offers("glob") ? [] : closedFolders(made, tools.directory)
    const folders = closed.length > 0 ? closed : foldersBelow(cut, rounds.slice(0, round).flat(), tools.directory)
    const planned = [
      ...cut.flatMap((folder) => tools.glob(beside, folder)),
      ...folders.slice(0, mostFolders).flatMap((folder) => [...tools.list(folder), ...tools.glob(everything, folder)])
    ]
    // Only earlier rounds count, so that every later step gives the same answer on whether this one ended the search.
    const next = round === mostListings ? [] : notMade(planned, rounds.slice(0, round).flat())
    if (next.length === 0) {
      hidden([...cut, ...closed])
      return { next, rounds: round, notes }
    }
    if (round === rounds.length) return { next, rounds: round, notes }
    hidden(folders.slice(mostFolders))
  }
}

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
