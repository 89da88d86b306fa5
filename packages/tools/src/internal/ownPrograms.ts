/**
 * Finds the programs that Skein runs itself, such as bash, git and bubblewrap. The PATH may list directories of the
 * project first, as it does below `npx`. Anyone who can change the project may have put a program there.
 */
import * as NodeFs from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { attempt } from "./processes.ts"
import { isIn } from "./within.ts"

const real = (path: string): string => attempt(() => NodeFs.realpathSync(path), path)

const isProgram = (path: string): boolean =>
  attempt(() => {
    NodeFs.accessSync(path, NodeFs.constants.X_OK)
    return NodeFs.statSync(path).isFile()
  }, false)

const entriesOf = (path: string | undefined): ReadonlyArray<string> => (path ?? "").split(delimiter)

/**
 * Whether a directory of programs belongs to a project: its path is relative, in the tree, or a `node_modules/.bin`.
 */
const isOfProject = (entry: string, tree: string): boolean =>
  !isAbsolute(entry) || /\/node_modules\/\.bin\/?$/.test(entry) || isIn(real(entry), tree) || isIn(entry, tree)

/** How to run a program from outside of the project in this directory: by its path if the PATH contains the project. */
export const ownProgram = (name: string, path: string | undefined, directory: string): string => {
  if (process.platform === "win32") return name
  const tree = real(directory)
  const entries = entriesOf(path)
  const others = entries.filter((entry) => entry !== "" && !isOfProject(entry, tree))
  if (others.length === entries.length || path === undefined) return name
  // If there is none, nothing else is run in its place.
  return others.map((entry) => join(entry, name)).find(isProgram) ?? `/nowhere/${name}`
}

/** The program in a project that a shell in one of these directories would run by this name. */
export const programInTree = (
  name: string,
  path: string | undefined,
  tree: string,
  directories: ReadonlyArray<string>
): string | undefined => {
  const top = real(tree)
  for (const entry of entriesOf(path)) {
    const places = isAbsolute(entry) ? [entry] : directories.map((each) => join(each, entry === "" ? "." : entry))
    const programs = places.map((each) => join(each, name)).filter(isProgram)
    if (programs.length === 0) continue
    const ofTree = programs.find((each) => isIn(each, top) || isIn(real(each), top))
    if (ofTree !== undefined) return ofTree
    if (isAbsolute(entry)) return undefined
  }
  return undefined
}
