/** Decides how the root agent finds the files of a project, folder by folder if there are too many to list at once. */
import type { Call } from "../conversation.ts"
import { patterns } from "../facts/facts.ts"
import { gather } from "../gathered.ts"
import { folderOf, isIgnored } from "../language.ts"
import { isCut, readTree } from "../outputs.ts"
import { notMade, type PlannedCall, type Toolbox } from "../toolbox.ts"

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
const mostRounds = 4

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
export interface Discovery {
  /** The calls of the next round; empty once the files are known. */
  readonly next: ReadonlyArray<PlannedCall>
  /** The number of rounds so far. */
  readonly rounds: number
  readonly notes: ReadonlyArray<string>
}

/** Replays the rounds so far, and decides the next one. */
export const discover = (rounds: ReadonlyArray<ReadonlyArray<Call>>, tools: Toolbox): Discovery => {
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
    const next = round === mostRounds ? [] : notMade(planned, rounds.slice(0, round).flat())
    if (next.length === 0) {
      hidden([...cut, ...closed])
      return { next, rounds: round, notes }
    }
    if (round === rounds.length) return { next, rounds: round, notes }
    hidden(folders.slice(mostFolders))
  }
}
