import { useEffect, useRef, useState } from "preact/hooks";
import type { Episode } from "../api";
import { age, change, clock, count, dollars, instant, iso, perHour, perHourExact, plural, shortName } from "../format";
import { loadMoments, moments, past, pastFailure, retryPast } from "../replay";
import { link, params, set } from "../router";
import { matchText, parseQuery } from "../search";
import { episodes, live, mergeEpisodes, now, strip } from "../store";
import { Badge, Blank, CapacityMark, Clock, Failed, Loading, NoMatch, Value, VirtualList } from "../ui/parts";
import { Drawer, Fix } from "../ui/drawer";
import { useResource, useWide } from "../ui/use";
import { Tiles } from "./fleet";

/** Dollars per hour that a decision changes; null if it is not about price. */
export function delta(e: Episode): number | null {
  return e.dollarsPerHourBefore === 0 && e.dollarsPerHourAfter === 0 ? null : e.dollarsPerHourAfter - e.dollarsPerHourBefore;
}

function nodesText(e: Episode): string {
  return [e.launchedNodes ? "+" + count(e.launchedNodes) : "", e.removedNodes ? "−" + count(e.removedNodes) : ""].filter(Boolean).join(" ");
}

function Delta({ value }: { value: number | null }) {
  if (value === null) return <span class="muted" title="not about price">–</span>;
  if (value === 0) return <span class="muted">same price</span>;
  return <span class={value < 0 ? "good" : ""}>{change(value, dollars)}/h</span>;
}

/** The slider over the earlier moments that the controller stores, with a tick for each decision. */
function Replay({ list }: { list: Episode[] }) {
  const [playing, setPlaying] = useState(false);
  const at = params.value.at;
  const all = moments.value;
  const stamp = list[0]?.id;
  useEffect(() => void loadMoments(), [stamp]);
  const index = at && all ? all.indexOf(at) : -1;
  const last = all?.length ?? 0;
  const value = index >= 0 ? index : at && all ? nearest(all, at) : last;
  const timer = useRef(0);
  useEffect(() => {
    if (!playing || !all?.length) return;
    // The next step waits until the fleet of the current moment has been fetched.
    if (at && past.value?.at !== at && !pastFailure.value) return;
    timer.current = window.setTimeout(() => {
      const next = value >= last ? 0 : value + 1;
      set({ at: all[next] }, true);
      if (next >= last) setPlaying(false);
    }, 350);
    return () => clearTimeout(timer.current);
  }, [playing, at, past.value, all]);
  if (!all) return <div class="replay muted">{pastFailure.value ? pastFailure.value.message : "Loading the moments that are kept…"}</div>;
  if (!all.length) return <div class="replay muted">No earlier moment is kept yet. The controller keeps the fleet while it runs.</div>;
  const times = all.map((m) => Date.parse(m));
  const text = !at ? "now" : instant(at) === null ? "unknown moment" : `${clock(at, now.value)}, ${age(at, now.value)} ago`;
  const ticks = list.flatMap((e) => {
    const t = instant(e.time);
    if (t === null || t < times[0]) return [];
    let i = times.findIndex((m) => m >= t);
    if (i < 0) i = last;
    const x = i === 0 || i === last ? i : i - 1 + (t - times[i - 1]) / Math.max(1, times[i] - times[i - 1]);
    return [{ id: e.id, x: x / last, kind: e.kind }];
  });
  return (
    <div class="replay">
      <button type="button" class="button small" aria-pressed={playing} onClick={() => setPlaying(!playing)}>{playing ? "Pause" : "Play"}</button>
      <div class="track">
        <svg viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((t) => <rect key={t.id} class={"tick-" + t.kind} x={t.x * 997} y={t.kind === "provisioning" ? 0 : 4} width="3" height={t.kind === "provisioning" ? 14 : 10} />)}
        </svg>
        <input type="range" min={0} max={last} step={1} value={value} aria-label="Moment" aria-valuetext={text}
          onInput={(e) => { const i = Number(e.currentTarget.value); setPlaying(false); set({ at: i >= last ? undefined : all[i] }, true); }} />
        <div class="ends" aria-hidden="true"><Clock time={all[0]} seconds={false} /><span>now</span></div>
      </div>
      <output class="moment" title={iso(at)}>{text}</output>
      <button type="button" class="button small" disabled={!at} onClick={() => { setPlaying(false); set({ at: undefined }); }}>Now</button>
    </div>
  );
}

function nearest(all: string[], at: string): number {
  let best = 0;
  for (let i = 0; i < all.length; i++) if (all[i] <= at) best = i;
  return best;
}

function EpisodeRow({ e }: { e: Episode }) {
  return (
    <div class={"episode kind-" + e.kind}>
      <Clock time={e.time} />
      <span class="episode-text"><b>{e.decision}</b><small>{e.cause}</small></span>
      <span class="episode-facts"><Delta value={delta(e)} /><small>{[nodesText(e), e.state === "done" ? "" : e.state].filter(Boolean).join(" · ")}</small></span>
    </div>
  );
}

const fields = ["launched", "registered", "initialized", "evicted", "terminating", "terminated", "failed", "cancelled"];

function EpisodeDrawer({ e }: { e: Episode }) {
  const t = now.value;
  const d = delta(e);
  const nodeLink = (claim: string, text: string) => (live.nodes.has(claim) ? <a href={link({ node: claim }, "fleet")}>{text}</a> : text);
  return (
    <Drawer kind={`Decision, ${e.kind}${e.reason ? ", " + e.reason : ""}`} label="Decision" title={e.decision} close={() => set({ episode: undefined })}>
      <div class="fact-line">
        <Badge kind={e.state}>{e.state}</Badge><span><Clock time={e.time} />, {age(e.time, t)} ago</span>
        {moments.value?.length ? <button type="button" class="button small" onClick={() => set({ at: momentBefore(e) })}>Show the fleet then</button> : null}
      </div>
      <section class="part"><h3>Cause</h3><p>{e.cause}</p></section>
      <section class="part"><h3>Price of all nodes</h3>
        {d === null ? <p class="muted">This decision is not about price.</p> : <p><span class="fromto">{perHourExact(e.dollarsPerHourBefore)} → <b>{perHourExact(e.dollarsPerHourAfter)}</b></span> <Delta value={d} /></p>}
        {e.evictionsPlanned > 0 && <p class="muted">{count(e.evictions)} of {plural(e.evictionsPlanned, "pod")} evicted</p>}
      </section>
      {e.launches && e.launches.length > 0 && (
        <section class="part"><h3>Launched nodes ({count(e.launchedNodes)})</h3>
          <table class="plain"><thead><tr><th>NodeClaim</th><th>Type</th><th class="number">Pods</th><th class="number">$/h</th></tr></thead><tbody>
            {e.launches.map((l, i) => <tr key={i}><td>{nodeLink(l.claim, l.claim)}<small>{l.options} options</small></td><td class="nowrap"><CapacityMark type={l.capacityType} /> {l.instanceType}<small>{l.zone}</small></td><td class="number">{count(l.pods)}</td><td class="number">{dollars(l.dollarsPerHour)}</td></tr>)}
          </tbody></table>
        </section>
      )}
      {e.removals && e.removals.length > 0 && (
        <section class="part"><h3>Removed nodes ({count(e.removedNodes)})</h3>
          <table class="plain"><thead><tr><th>Node</th><th>Type</th><th class="number">Pods</th><th class="number">$/h</th></tr></thead><tbody>
            {e.removals.map((l, i) => <tr key={i}><td>{nodeLink(l.claim, shortName(l.node || l.claim))}</td><td class="nowrap"><CapacityMark type={l.capacityType} /> {l.instanceType}<small>{l.zone}</small></td><td class="number">{count(l.pods)}</td><td class="number">{dollars(l.dollarsPerHour)}</td></tr>)}
          </tbody></table>
        </section>
      )}
      <section class="part"><h3>Refused alternatives ({count(e.refusedTotal)})</h3>
        {e.refused?.length ? (
          <ul class="refused">
            {e.refused.map((r, i) => <li key={i}><div><code>{r.subject}</code>{r.count > 1 ? ` and ${count(r.count - 1)} more` : ""}{r.dollarsPerHour ? <span class="muted"> {perHour(r.dollarsPerHour)}</span> : null}</div><div class="muted">{r.reason}</div>{r.fix && <Fix text={r.fix} />}</li>)}
          </ul>
        ) : <p class="muted">None.</p>}
        {e.refused && e.refusedTotal > e.refused.length && <p class="muted">and {count(e.refusedTotal - e.refused.length)} more</p>}
      </section>
      <section class="part"><h3>Effects ({count(e.effectsTotal)})</h3>
        {Object.keys(e.progress).length > 0 && <p class="chips">{[...fields.filter((f) => e.progress[f]), ...Object.keys(e.progress).filter((f) => !fields.includes(f))].map((f) => <span key={f} class="chip">{f} {count(e.progress[f])}</span>)}</p>}
        <ol class="effects">{e.effects?.map((f, i) => <li key={i}><Clock time={f.time} /><span><b>{f.kind}</b> <bdi>{f.object}</bdi>{f.message && <small>{f.message}</small>}</span></li>)}</ol>
        {!e.effectsTotal && <p class="muted">{e.state === "open" ? "No effect yet." : "None."}</p>}
      </section>
    </Drawer>
  );
}

/** The last stored moment before a decision, or the first one after it if there is none before. */
function momentBefore(e: Episode): string | undefined {
  const all = moments.value ?? [];
  const t = Date.parse(e.time);
  return all.findLast((m) => Date.parse(m) <= t) ?? all[0];
}

export function DecisionsView() {
  const { data, failure, asked, reload } = useResource<{ episodes: Episode[] }>("decisions?limit=1000");
  const wide = useWide(1000);
  useEffect(() => { if (data) mergeEpisodes(data.episodes, asked); }, [data]);
  const list = episodes.value;
  const p = params.value;
  if (!data && !list) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="decisions" />;
  const query = parseQuery(p.q ?? "");
  const all = list ?? data!.episodes;
  const kind = p.kind ?? "";
  const until = p.at ? Date.parse(p.at) : Infinity;
  const shown = all.filter((e) => (!kind || e.kind === kind) && Date.parse(e.time) <= until &&
    matchText(query, e.decision, e.cause, e.kind, e.reason, e.state, ...e.pools, ...(e.launches ?? []).map((l) => l.claim), ...(e.removals ?? []).map((r) => r.node + r.claim)));
  const kinds = [...new Set(all.map((e) => e.kind))].sort();
  const selected = all.find((e) => e.id === p.episode);
  return (
    <div class={"decisions" + (wide ? " wide" : "") + (selected ? " with-drawer" : "")}>
      <Replay list={all} />
      <div class="timeline">
        <div class="toolbar">
          <label class="choice"><span>Kind</span>
            <select value={kind} aria-label="Kind" onChange={(e) => set({ kind: e.currentTarget.value || undefined })}>
              <option value="">all</option>{kinds.map((k) => <option key={k}>{k}</option>)}
            </select>
          </label>
          <span class="muted">{plural(shown.length, "decision")}{p.at ? " until then" : ""}</span>
        </div>
        {shown.length ? (
          <VirtualList steady class="episodes" role="listbox" label="Decisions, newest first" rowHeight={56} items={shown} keyOf={(e) => e.id} active={p.episode ?? ""} onOpen={(id) => set({ episode: id, node: undefined })} row={(e) => <EpisodeRow e={e} />} />
        ) : all.length && p.q ? <NoMatch title="No decision matches" /> : <Blank title={all.length ? "No decision matches" : strip.value?.leader === false ? "Decisions are not known here" : "No decision yet"} text={all.length ? undefined : strip.value?.leader === false ? "This replica is a standby. The leader keeps the decision log." : "Decisions appear when pods are pending or nodes can be removed."} />}
      </div>
      {(wide || p.at) && (
        <section class="replayed" aria-label="Fleet at the chosen moment">
          {pastFailure.value && p.at ? <Failed failure={pastFailure.value} retry={retryPast} /> : <Tiles compact />}
        </section>
      )}
      {selected && <EpisodeDrawer key={selected.id} e={selected} />}
      {p.episode && !selected && all.length > 0 && (
        <Drawer kind="Decision" label="Decision" title={p.episode} close={() => set({ episode: undefined })}><p class="muted pad"><Value text="—" /> This decision is not kept any more.</p></Drawer>
      )}
    </div>
  );
}
