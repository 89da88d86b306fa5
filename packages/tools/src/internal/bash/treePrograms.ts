/** Finds programs of the project that the PATH puts in the place of those that rules and tables speak of. */
import { programInTree } from "../ownPrograms.ts"
import { tableFor } from "../programs/programs.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { isBuiltin } from "./risks.ts"
import { plainWord, spelled } from "./words.ts"

const isKnown = ({ call, program, reads }: Invocation): boolean =>
  !program.includes("/") && !isBuiltin(program) && (reads || call !== undefined || tableFor(program) !== undefined)

/** Lets no default and no wildcard cover a known program whose name stands for one of the project; `top` is its directory. */
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
      reads: false
    }
  })
  return { ...parts, invocations }
}
