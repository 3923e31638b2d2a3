// A board that serves over HTTP with authorization on, as these scripts start it.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class Board {
  log = ""; // all that it has said
  #waiting = [];

  constructor(argv, tokens) {
    this.argv = argv;
    this.tokens = tokens;
  }

  // start starts it, the second time at the same address as the first.
  async start() {
    const addr = this.url ? new URL(this.url).host : "127.0.0.1:0";
    const [exe, ...args] = this.argv;
    this.process = spawn(exe, [...args, "--http", addr, "--auth", "--tokens", this.tokens], { stdio: ["ignore", "ignore", "pipe"] });
    createInterface({ input: this.process.stderr }).on("line", (line) => {
      this.log += line + "\n";
      this.#waiting = this.#waiting.filter((w) => !w(line));
    });
    this.process.on("exit", () => this.#waiting.forEach((w) => w(null)));
    this.url = (await this.#next(/serving at (\S+)/))[1];
  }

  async stop() {
    if (this.process.exitCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    await ended;
  }

  // nextCode is the pairing code of the next request.
  async nextCode() {
    return (await this.#next(/pairing code is (\S+),/))[1];
  }

  #next(pattern) {
    return new Promise((resolve, reject) => {
      this.#waiting.push((line) => {
        const found = line?.match(pattern);
        if (found) resolve(found);
        if (line === null) reject(new Error(`boardhand ended:\n${this.log}`));
        return found;
      });
    });
  }
}

// listen serves pages on a port of its own at a name of this machine.
export async function listen(name, answer) {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.origin = `http://${name}:${server.address().port}`;
  return server;
}

// Callback is where a client waits for the answer.
export class Callback {
  #answer;

  async start() {
    this.server = await listen("127.0.0.1", (request, response) => {
      const url = new URL(request.url, this.server.origin);
      response.end("<!doctype html><title>done</title>You can close this page.");
      if (url.pathname === "/callback") this.#answer?.(url.searchParams);
    });
    this.url = this.server.origin + "/callback";
  }

  next() {
    return new Promise((resolve) => (this.#answer = resolve));
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// person approves by the form as it stands in the page, where there is no browser.
export function withoutBrowser() {
  return {
    async approve(url, code, { write }) {
      const page = await (await fetch(url)).text();
      const request = page.match(/name="request" value="([^"]+)"/)[1];
      const form = new URLSearchParams({ request, code: await code, decision: "approve" });
      if (write) form.set("write", "yes");
      await fetch(new URL("/authorize", url), { method: "POST", body: form });
    },
    async close() {},
  };
}

// withBrowser approves in a real one.
export async function withBrowser(executablePath) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return {
    async approve(url, code, { write }) {
      const page = await browser.newPage();
      await page.goto(String(url));
      if (!write) await page.getByRole("checkbox").uncheck();
      await page.getByLabel("Pairing code").fill(await code);
      await page.getByRole("button", { name: "Approve" }).click();
      await page.waitForURL("**/callback?**");
      await page.close();
    },
    close: () => browser.close(),
  };
}
