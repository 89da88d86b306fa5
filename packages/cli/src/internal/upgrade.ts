/** What `skein upgrade` does: prints a line for your shell, and never installs anything itself. */
import * as Effect from "effect/Effect"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { version } from "./version.ts"

/** Prints the line. It names a tarball, because the registry has no Skein package that you can trust yet. */
export const executeUpgrade = (): Effect.Effect<number, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    stdio.out("npm i -g ./skein-X.Y.Z.tgz\n")
    stdio.err(
      `This is Skein ${version}. The packages are not in the npm registry yet, so you build the tarball:\n`
        + "update your clone, run `npm run build` and `npm pack -w packages/cli` in it, and use the name of the file that it prints."
    )
    return ExitCode.done
  })
