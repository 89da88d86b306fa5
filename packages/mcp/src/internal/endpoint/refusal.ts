/** Says in the form of the protocol why a request over HTTP is not answered. */

/** The response. */
export const refusal = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status })
