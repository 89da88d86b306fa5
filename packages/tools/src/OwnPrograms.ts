/**
 * Decides which programs on the PATH Skein may run itself, such as bash, git and bubblewrap. The PATH may name
 * directories of projects, as it does below `npx` and in a virtual environment. Anyone who can change the project may
 * have put a program there, and agents change projects.
 */
import * as NodeFs from "node:fs"
import { homedir } from "node:os"
import { delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path"
import { attempt, isBelow, isIn, realOf } from "./internal/disk.ts"

const isProgram = (path: string): boolean =>
  attempt(() => {
    NodeFs.accessSync(path, NodeFs.constants.X_OK)
    return NodeFs.statSync(path).isFile()
  }, false)

const entriesOf = (path: string | undefined): ReadonlyArray<string> => (path ?? "").split(delimiter)

/** A directory and all above it, the nearest first. */
const upwards = (directory: string): ReadonlyArray<string> =>
  dirname(directory) === directory ? [] : [directory, ...upwards(dirname(directory))]

/** The repository around a linked working tree or a submodule: its `.git` is a file that names a place in the other. */
const around = (root: string): string | undefined =>
  attempt(() => {
    const named = /^gitdir: (.+)$/m.exec(NodeFs.readFileSync(join(root, ".git"), "utf8"))?.[1]
    return named === undefined ? named : /^(.+?)\/\.git\//.exec(NodeFs.realpathSync(resolve(root, named)))?.[1]
  }, undefined)

/** The project of a directory: all of its outermost repository, or what is around it in the home. */
const projectOf = (directory: string, known: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const home = realOf(homedir())
  const start = realOf(directory)
  // A home that is a repository itself is no project.
  const places = upwards(start).filter((each) => !isBelow(home, each))
  const root = places.findLast((each) => NodeFs.existsSync(join(each, ".git")))
  if (root !== undefined) {
    const all = [...known, root]
    const other = known.includes(root) ? undefined : around(root)
    return other === undefined ? all : projectOf(other, all)
  }
  // Without a repository, Skein cannot tell where the project begins.
  const top = isIn(start, home) ? relative(home, start).split("/", 1).join("") : ""
  return [...known, /^\.|^$/.test(top) ? start : join(home, top)]
}

/** What sessions of this process may have changed, by the directory from which that follows. */
const projects = new Map<string, ReadonlyArray<string>>()

/** Runs no program below these places from now on. A session may change them. */
export const distrust = (places: ReadonlyArray<string>): void => {
  for (const place of places) projects.set(place, projects.get(place) ?? [realOf(place)])
}

/** Runs no program of a session's project from now on. */
export const distrustProject = (directory: string): void => {
  if (!projects.has(`${directory}/`)) projects.set(`${directory}/`, projectOf(directory))
}

const isDistrusted = (path: string): boolean =>
  /\/node_modules\/\.bin(?:\/|$)/.test(path)
  || [...projects.values()].some((places) => places.some((place) => isIn(path, place)))

/** Whether a program or a directory of programs belongs to a project, by its name or by where a link leads. */
const isOfProject = (path: string): boolean => isDistrusted(resolve(path)) || isDistrusted(realOf(path))

const isOurs = (entry: string): boolean => isAbsolute(entry) && !isOfProject(entry)

const split = (path: string | undefined, directory: string) => {
  distrustProject(attempt(() => process.cwd(), "/"))
  distrustProject(directory)
  return Map.groupBy(entriesOf(path), isOurs)
}

/** An environment, or only its PATH. */
type Variables = Readonly<Record<string, string | undefined>>

const withPath = <A extends Variables>(
  environment: A,
  directory: string,
  choose: (groups: Map<boolean, Array<string>>) => ReadonlyArray<string>
): A => {
  const { PATH } = environment
  if (PATH === undefined) return environment
  // An empty PATH is the current directory.
  return { ...environment, PATH: choose(split(PATH, directory)).join(delimiter) || "/nowhere" }
}

/** The environment of programs that Skein runs itself in this directory: they find none in directories of projects. */
export const ownEnvironment = <A extends Variables>(environment: A, directory: string): A =>
  withPath(environment, directory, (groups) => groups.get(true) ?? [])

/**
 * The environment of programs that users name, such as hooks and editors: no program of a project replaces one of the
 * machine.
 */
export const machineFirst = <A extends Variables>(environment: A, directory: string): A =>
  withPath(environment, directory, (groups) => [...groups.get(true) ?? [], ...groups.get(false) ?? []])

/** The path of a program that Skein runs itself in this directory. Links of it do not lead into a project either. */
export const ownProgram = (name: string, PATH: string | undefined, directory: string): string => {
  if (process.platform === "win32" || PATH === undefined || isAbsolute(name)) return name
  const found = split(PATH, directory).get(true)?.map((entry) => join(entry, name))
    .find((each) => isProgram(each) && isOurs(each))
  // If there is none, nothing else is run in its place.
  return found ?? `/nowhere/${name}`
}

/** The program of a project that a shell in one of these directories, the project's `tree` among them, would run. */
export const programInTree = (
  name: string,
  path: string | undefined,
  tree: string,
  directories: ReadonlyArray<string>
): string | undefined => {
  distrustProject(tree)
  for (const entry of entriesOf(path)) {
    const places = isAbsolute(entry) ? [entry] : directories.map((each) => join(each, entry === "" ? "." : entry))
    const programs = places.map((each) => join(each, name)).filter(isProgram)
    if (programs.length === 0) continue
    const ofProject = programs.find(isOfProject)
    if (ofProject !== undefined) return ofProject
    if (isAbsolute(entry)) return undefined
  }
  return undefined
}
