/** Says how a call failed: whether the tool may have done its work all the same. */
import { ProtocolError, SdkHttpError, UnauthorizedError } from "@modelcontextprotocol/client"
import { ServerFailed } from "../ServerFailed.ts"
import { unintelligible } from "../stdio/misfit.ts"

/** What to do about a call that may have done its work. */
const advice = "The tool may have done its work: check what it did before you repeat the call."

/** A connection that was never made: the server got nothing. */
const neverSent = /^connect E|ENOTFOUND|EAI_AGAIN/

/** How the server itself describes the end of its task. */
const ofTask = /^its task (?:failed|was cancelled|has ended)/

/** Whether the server has not run the tool, or has said itself how that ended. */
export const isSettled = (cause: unknown, why: string): boolean => {
  if (cause instanceof ProtocolError) return !cause.message.includes(unintelligible)
  if (cause instanceof ServerFailed) return ofTask.test(cause.message)
  if (cause instanceof UnauthorizedError || neverSent.test(why)) return true
  return cause instanceof SdkHttpError && cause.status >= 400 && cause.status < 500
}

/** The words for a call that has timed out. */
export const timedOut = (server: string, why: string, onlyReads: boolean): string =>
  onlyReads
    ? `The call timed out: ${why} (mcp.${server}.timeout sets how long).`
    : `The call timed out, outcome unknown: ${why} (mcp.${server}.timeout sets how long). ${advice}`

/** The words for any other call that failed. */
export const callFailed = (server: string, why: string, isOver: boolean): string =>
  isOver
    ? `The call failed. The MCP server ${server}: ${why}`
    : `The call failed, outcome unknown. The MCP server ${server}: ${why}. ${advice}`
