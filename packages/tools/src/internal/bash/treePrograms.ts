/** Finds programs of the project that the PATH uses instead of those that rules and tables mean. */
import { programInTree } from "../../OwnPrograms.ts"
import { tableFor } from "../programs/programs.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { isBuiltin } from "./risks.ts"
import { plainWord, spelled } from "./words.ts"

const isKnown = ({ call, program, reads }: Invocation): boolean =>
  !program.includes("/") && !isBuiltin(program) && (reads || call !== undefined || tableFor(program) !== undefined)

/**
 * Makes sure that no default and no wildcard covers a program whose name leads to the project; `top` is the project's
 * directory.
 */
export const withTreePrograms = (parts: Parts, places: Places, top: string, path: string | undefined): Parts => {
  const directories = [top, ...places.directories.map((each) => each === "" ? top : each)]
  const invocations = parts.invocations.map((each): Invocation => {
    const found = isKnown(each) ? programInTree(each.program, path, top, directories) : undefined
    if (found === undefined) return each
    const { args, beginning: _, program } = each
    return {
      program,
      args,
      pattern: spelled([plainWord(program), ...args]),
      risk: `${program} is a program of this project (${found})`,
      reads: false,
      runs: true
    }
  })
  return { ...parts, invocations }
}
