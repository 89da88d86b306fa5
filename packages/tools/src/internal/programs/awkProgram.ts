/** Recognises awk programs that cannot write, run commands, or choose their input. */

/** Conditions in parentheses, in which `>` compares. */
const condition = /\b(?:if|while)\s*\([^()"'/{}#\n\\]*\)/g

/** Whether a program only reads its input, and prints. */
export const isReadingProgram = (program: string): boolean => {
  if (/@|system|getline|close|fflush|ARG[VC]|ENVIRON|PROCINFO|\binclude\b|\bload\b/.test(program)) return false
  // Before its first brace, a program only compares. A quoted text there may contain a brace.
  const [before = ""] = program.split("{", 1)
  const compares = /["/]/.test(before) ? before : before.replaceAll(">", "")
  const rest = compares + program.slice(before.length).replace(condition, "")
  return !/>|\|/.test(rest.replaceAll("||", ""))
}
