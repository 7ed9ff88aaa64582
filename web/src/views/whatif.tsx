import { useEffect, useRef, useState } from "preact/hooks";
import type { Pool, WhatIf } from "../api";
import { Failure, get, post } from "../client";
import { change, count, dollars, perHour, perHourExact, plural, shortName } from "../format";
import { params, set } from "../router";
import { announcement, strip } from "../store";
import { Blank, CapacityMark, Copy, Failed, Section, Value } from "../ui/parts";
import { Fix } from "../ui/drawer";
import { useResource } from "../ui/use";
import { toRequest, workload, type Form } from "../whatif";

/** The length of the longest text that is put into the address of the page. */
const longest = 6000;

function fromAddress(): Form {
  const p = params.peek();
  return { manifests: p.yaml ?? "", without: p.without ?? "", prices: p.prices ?? "" };
}

function Row({ name, before, after, text, better }: { name: string; before: number | null; after: number | null; text: (v: number | null) => string; better: "less" | "neither" }) {
  const d = before === null || after === null ? null : after - before;
  const small = d !== null && Math.abs(d) < 1e-9;
  return (
    <tr>
      <th scope="row">{name}</th><td class="number">{text(before)}</td><td class="number"><b>{text(after)}</b></td>
      <td class={"number " + (d === null || small || better === "neither" ? "muted" : d < 0 ? "good" : "more")}>{small ? "same" : change(d, text)}</td>
    </tr>
  );
}

function Result({ r }: { r: WhatIf }) {
  const d = r.after.dollarsPerHour - r.before.dollarsPerHour;
  const part = r.before.dollarsPerHour > 0 ? d / r.before.dollarsPerHour : null;
  return (
    <div class="result">
      <p class="verdict">
        {Math.abs(d) < 1e-9 ? <b class="huge">The price stays the same</b> : <b class={"huge " + (d < 0 ? "good" : "more")}>{change(d, dollars)}/h</b>}
        {part !== null && Math.abs(d) >= 1e-9 && <span class="muted">{change(part * 100, (v) => v.toFixed(1) + "%")} of the price of all nodes, {change(d * 730, dollars)}/month</span>}
      </p>
      <table class="plain compare">
        <thead><tr><th /><th class="number">Now</th><th class="number">Afterwards</th><th class="number">Change</th></tr></thead>
        <tbody>
          <Row name="Nodes" before={r.before.nodes} after={r.after.nodes} text={count} better="neither" />
          <Row name="Price" before={r.before.dollarsPerHour} after={r.after.dollarsPerHour} text={perHourExact} better="less" />
          <Row name="Lower bound" before={r.before.floorPerHour} after={r.after.floorPerHour} text={perHourExact} better="less" />
          <Row name="Pending pods" before={r.before.pending} after={r.after.pending} text={count} better="less" />
          <Row name="Evictions" before={r.before.evictions} after={r.after.evictions} text={count} better="less" />
        </tbody>
      </table>
      {r.warnings.map((w) => <p key={w} class="why">{w}</p>)}
      {r.launches.length > 0 && (
        <Section title="Nodes to launch" note={plural(r.launches.reduce((n, l) => n + l.count, 0), "node")}>
          <div class="table-scroll" tabIndex={0} role="region" aria-label="Nodes to launch"><table class="plain"><thead><tr><th>Type</th><th>NodePool</th><th>Zone</th><th class="number">Count</th><th class="number">$/h each</th></tr></thead>
            <tbody>{r.launches.map((l, i) => <tr key={i}><td><CapacityMark type={l.capacityType} /> {l.type}</td><td>{l.pool}</td><td>{l.zone}</td><td class="number">{count(l.count)}</td><td class="number"><Value text={dollars(l.dollarsPerHour)} /></td></tr>)}</tbody></table></div>
        </Section>
      )}
      {r.removals.length > 0 && (
        <Section title="Nodes to remove" note={plural(r.removals.length, "node")}>
          <div class="table-scroll tall" tabIndex={0} role="region" aria-label="Nodes to remove"><table class="plain"><thead><tr><th>Node</th><th>Type</th><th>Reason</th><th class="number">$/h</th></tr></thead>
            <tbody>{r.removals.map((l) => <tr key={l.node}><td><code>{shortName(l.node)}</code></td><td>{l.type}</td><td>{l.reason}</td><td class="number"><Value text={dollars(l.dollarsPerHour)} /></td></tr>)}</tbody></table></div>
        </Section>
      )}
      {r.drifted.length > 0 && <Section title="Nodes that drift" note={plural(r.drifted.length, "node")}><p class="chips">{r.drifted.slice(0, 60).map((n) => <code key={n} class="chip">{shortName(n)}</code>)}{r.drifted.length > 60 && <span class="muted">and {count(r.drifted.length - 60)} more</span>}</p></Section>}
      {r.refused.length > 0 && (
        <Section title="Pods without a node" note={plural(r.refused.reduce((n, x) => n + x.count, 0), "pod")}>
          <ul class="refused">{r.refused.map((x, i) => <li key={i}><div><code>{x.pod}</code>{x.count > 1 && ` and ${count(x.count - 1)} more`}</div><div class="muted">{x.reason}</div><Fix text={x.fix} /></li>)}</ul>
        </Section>
      )}
    </div>
  );
}

export function WhatIfView() {
  const [form, setForm] = useState<Form>(fromAddress);
  const [state, setState] = useState<{ result?: WhatIf; failure?: Failure; problem?: string; busy?: boolean }>({});
  const pools = useResource<{ pools: Pool[] }>("pools");
  const outcome = useRef<HTMLDivElement>(null);
  const abort = useRef<AbortController | null>(null);
  const edit = (part: Partial<Form>) => setForm((old) => ({ ...old, ...part }));
  const run = async (f: Form) => {
    const made = toRequest(f);
    if ("problem" in made) return setState({ problem: made.problem });
    const short = f.manifests.length <= longest;
    set({ yaml: short ? f.manifests : undefined, without: f.without || undefined, prices: f.prices || undefined }, true);
    abort.current?.abort();
    abort.current = new AbortController();
    setState((old) => ({ result: old.result, busy: true }));
    try {
      const result = await post<WhatIf>("whatif", made.request, abort.current.signal);
      setState({ result });
      announcement.value = `Computed: ${change(result.after.dollarsPerHour - result.before.dollarsPerHour, perHour)}, ${plural(result.after.nodes, "node")}, ${plural(result.after.evictions, "eviction")}`;
      if (outcome.current && outcome.current.getBoundingClientRect().top > innerHeight * 0.8) outcome.current.scrollIntoView({ behavior: "smooth" });
    } catch (failure) {
      if (failure instanceof Failure) setState({ failure });
    }
  };
  useEffect(() => {
    const f = fromAddress();
    if (f.manifests || f.without || f.prices) void run(f);
    return () => abort.current?.abort();
  }, []);
  const load = async (name: string) => {
    if (!name) return;
    try {
      edit({ manifests: (await get<{ yaml: string }>(`manifests?kind=NodePool&name=${encodeURIComponent(name)}`)).yaml });
    } catch (failure) {
      if (failure instanceof Failure) setState({ failure });
    }
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="What-if">
      <div class="wrap whatif">
        <form onSubmit={(e) => { e.preventDefault(); void run(form); }} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); void run(form); } }}>
          <h2>What would a change do?</h2>
          <p class="muted">The controller decides on its snapshot of the cluster as if the change were made. Nothing is applied.</p>
          <div class="whatif-tools">
            <label class="choice"><span>Start from</span>
              <select aria-label="Start from a NodePool" value="" onChange={(e) => { void load(e.currentTarget.value); e.currentTarget.value = ""; }}>
                <option value="">a NodePool…</option>{pools.data?.pools.map((p) => <option key={p.name}>{p.name}</option>)}
              </select>
            </label>
            <button type="button" class="button small" onClick={() => edit({ manifests: workload })}>A workload</button>
            <span class="spacer" /><Copy text={form.manifests} label="Copy YAML" />
          </div>
          <label class="labelled">Manifests, YAML of NodePools or workloads
            <textarea spellcheck={false} rows={10} value={form.manifests} placeholder="Paste manifests here, or start from a NodePool." onInput={(e) => edit({ manifests: e.currentTarget.value })} />
          </label>
          <label class="labelled">Prices<input class="field" value={form.prices} placeholder="m7a.large=0.05, c7a.xlarge/eu-west-1a/spot=0.04" spellcheck={false} onInput={(e) => edit({ prices: e.currentTarget.value })} /></label>
          <label class="labelled">Without nodes<input class="field" value={form.without} placeholder="names of NodeClaims, or of nodes that have none" spellcheck={false} onInput={(e) => edit({ without: e.currentTarget.value })} /></label>
          <div class="whatif-tools"><button type="submit" class="button primary" disabled={state.busy}>{state.busy ? "Computing…" : "Compute"}</button><span class="muted keys"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
            {form.manifests.length > longest && <span class="muted">Too long for a link: the address has no manifests.</span>}</div>
        </form>
        <div ref={outcome} class={"outcome" + (state.busy ? " stale" : "")} aria-busy={state.busy}>
          {state.problem && <p class="why" role="alert">{state.problem}</p>}
          {state.failure ? <Failed failure={state.failure} /> : state.result ? <Result r={state.result} /> : !state.problem && (
            <Blank busy={state.busy} title={state.busy ? "Computing" : "No change yet"} text={state.busy ? undefined : strip.value ? `Now: ${plural(strip.value.nodes, "node")} at ${perHour(strip.value.dollarsPerHour)}. Nodes, dollars and evictions before and after appear here.` : "Nodes, dollars and evictions before and after appear here."} />
          )}
        </div>
      </div>
    </div>
  );
}
