/** What files of commands and skills define: which of a name counts, and why one does not. */
import * as Either from "effect/Either"
import { type ConfigIssue, formatIssue } from "../ConfigError.ts"

/** What a file defines, or its faults. */
export interface Definition<A> {
  readonly name: string
  /** Its place, as `file` or `file:line`. */
  readonly origin: string
  readonly said: Either.Either<A, ReadonlyArray<ConfigIssue>>
  /** Ignored content. */
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** One with faults. */
export const failed = (name: string, origin: string, issues: ReadonlyArray<ConfigIssue>): Definition<never> => ({
  name,
  origin,
  said: Either.left(issues),
  warnings: []
})

/** One of another tool that is not used, and why. */
export const leftOut = (
  what: "command" | "skill",
  { file, name }: { readonly file: string; readonly name: string },
  fault: Omit<ConfigIssue, "file" | "kind">,
  kind: NonNullable<ConfigIssue["kind"]> = "left_out"
): Definition<never> =>
  failed(name, file, [{
    file,
    ...fault,
    message: `the ${what} ${JSON.stringify(name)} is left out: ${fault.message}`,
    kind
  }])

/** Says that another file defines the same name. */
export const definedIn = (name: string, before: Definition<unknown>): string =>
  `${JSON.stringify(name)} is defined in ${before.origin} as well; rename one of them`

/** The last of each name counts: those that can be used, with the places of those that they hide, and those that cannot. */
export const lastOfEach = <A>(found: ReadonlyArray<Definition<A>>, warnings: ReadonlyArray<ConfigIssue>) => {
  const groups = new Map<string, ReadonlyArray<Definition<A>>>()
  for (const each of found) groups.set(each.name, [each, ...groups.get(each.name) ?? []])
  const all = [...groups.values()].flatMap(([first, ...rest]) => first === undefined ? [] : [{ first, rest }])
  return {
    usable: all.flatMap(({ first: { name, origin, said }, rest }) =>
      Either.isRight(said) ? [{ name, origin, value: said.right, hides: rest.map((each) => each.origin) }] : []
    ),
    broken: all.flatMap(({ first: { name, said } }) =>
      Either.isLeft(said) ? [{ name, message: said.left.map(formatIssue).join("\n") }] : []
    ),
    warnings: [...warnings, ...all.flatMap(({ first }) => first.warnings)]
  }
}
