import { baseEnvironment } from "@skein/tools/ServerProcess"
import { expect, it } from "vitest"

it("a server gets what it needs to reach the network, and no secret", () => {
  const passed = {
    PATH: "/bin",
    NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
    SSL_CERT_FILE: "/etc/ca.pem",
    HTTPS_PROXY: "http://proxy.example:3128",
    http_proxy: "proxy.example:3128",
    no_proxy: "localhost,.example"
  }
  const withheld = {
    HTTP_PROXY: "http://me:s3cret@proxy.example:3128",
    ALL_PROXY: "me:s3cret@proxy.example",
    OPENAI_API_KEY: "k",
    OTHER: "x"
  }
  expect(baseEnvironment({ ...passed, ...withheld })).toEqual(passed)
})
