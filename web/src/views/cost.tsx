import type { Cost, Money } from "../api";
import { clock, count, dollars, percent, perHour, perMonth, plural, share, zone } from "../format";
import { link, params, set } from "../router";
import { matchText, parseQuery, type Query } from "../search";
import { episodes, now } from "../store";
import { Blank, Choice, Clock, Failed, Loading, NoMatch, Section, Value } from "../ui/parts";
import { Fix } from "../ui/drawer";
import { useResource } from "../ui/use";

const bys = ["namespace", "pool", "owner"] as const;
type By = (typeof bys)[number];
const byTexts: Record<By, string> = { namespace: "namespace", pool: "NodePool", owner: "owner" };
const periods = ["1h", "24h", "168h", "720h"] as const;
const periodTexts: Record<string, string> = { "1h": "1 hour", "24h": "24 hours", "168h": "7 days", "720h": "30 days" };

/** For each cause of idle capacity: what it means, and what helps, in the words of docs/cost.md. */
const causes: Record<string, [string, string]> = {
  fragmentation: ["its pods have no other place, or moving them does not pay", "smaller requests, looser constraints"],
  "node-size": ["no cheaper instance types hold its pods", "allow more types and sizes"],
  limit: ["limits of NodePools exclude a cheaper node", "raise spec.limits"],
  pdb: ["a PodDisruptionBudget allows no eviction", "more replicas, or maxUnavailable"],
  "do-not-disrupt": ["the node or a pod has the annotation", "remove it, or give it a duration"],
  budget: ["a disruption budget is used up", "a larger budget or another schedule"],
  "consolidate-after": ["pods came or went recently", "a shorter consolidateAfter"],
  headroom: ["a CapacityBuffer reserves the room", "a smaller buffer"],
  static: ["its NodePool has a fixed number of nodes", "fewer replicas"],
  policy: ["settings exclude its disruption", "change the setting"],
  starting: ["it starts", ""],
  leaving: ["it is being disrupted", ""],
};

function sum<T>(list: T[], of: (x: T) => number): number {
  return list.reduce((total, x) => total + of(x), 0);
}

/** What a row costs with the idle capacity and the overhead of its nodes, if these belong to the row. */
function whole(r: Cost["rows"][number]): Money {
  const parts = [r, r.idle, r.overhead].filter((m) => m !== undefined);
  return { dollarsPerHour: sum(parts, (m) => m.dollarsPerHour), dollars: sum(parts, (m) => m.dollars) };
}

/**
 * The cost by row. Nodes belong to one NodePool, so a row of a NodePool has its idle capacity and overhead. Those of namespaces and
 * owners have workloads only, and the rest is below them. Without a search the last row is the price of all nodes.
 */
function Rows({ data, by, since, query }: { data: Cost; by: By; since: string; query: Query }) {
  const split = by === "pool";
  const rows = data.rows.filter((r) => matchText(query, r.key)).map((r) => ({ ...r, all: whole(r) })).sort((a, b) => b.all.dollarsPerHour - a.all.dollarsPerHour || b.all.dollars - a.all.dollars);
  if (!rows.length) return data.rows.length ? <NoMatch title="No row matches the search" /> : <p class="muted calm">No workload runs.</p>;
  const most = Math.max(...data.rows.map((r) => whole(r).dollarsPerHour), 0);
  const total = data.dollarsPerHour;
  const end = (text: string, m: Money, ...parts: number[]) => <tr><th scope="row">{text}</th>{parts.map((v, i) => <td key={i} class="number">{dollars(v)}</td>)}<td class="number">{dollars(m.dollarsPerHour)}</td><td class="number">{percent(share(m.dollarsPerHour, total))}</td><td class="number">{dollars(m.dollars)}</td></tr>;
  const shown = { dollarsPerHour: sum(rows, (r) => r.all.dollarsPerHour), dollars: sum(rows, (r) => r.all.dollars) };
  const parts = split ? [sum(rows, (r) => r.dollarsPerHour), sum(rows, (r) => r.idle?.dollarsPerHour ?? 0), sum(rows, (r) => r.overhead?.dollarsPerHour ?? 0)] : [];
  return (
    <div class="table-scroll tall" tabIndex={0} role="region" aria-label={"Cost by " + byTexts[by]}>
      <table class="plain cost-rows">
        <thead><tr><th>{byTexts[by]}</th>{split && ["workloads", "idle", "overhead"].map((t) => <th key={t} class="number">{t}</th>)}<th class="number">$/h</th><th class="number">Share</th><th class="number">$ in {periodTexts[since]}</th></tr></thead>
        <tbody>{rows.map((r) => (
          <tr key={r.key}><td>{r.key || "none"}<span class="under" aria-hidden="true"><i style={{ width: `${most > 0 ? (r.all.dollarsPerHour / most) * 100 : 0}%` }} /></span></td>
            {split && [r.dollarsPerHour, r.idle?.dollarsPerHour, r.overhead?.dollarsPerHour].map((v, i) => <td key={i} class="number">{dollars(v)}</td>)}
            <td class="number">{dollars(r.all.dollarsPerHour)}</td><td class="number">{percent(share(r.all.dollarsPerHour, total))}</td><td class="number">{dollars(r.all.dollars)}</td></tr>
        ))}</tbody>
        <tfoot>
          {query.terms.length > 0 ? end("total of these rows", shown, ...parts) : split ? end("total", data, ...parts) : (
            <>
              {end("idle capacity", { dollarsPerHour: sum(data.idle, (i) => i.dollarsPerHour), dollars: sum(data.idle, (i) => i.dollars) })}
              {end("overhead", data.overhead)}
              {end("total", data)}
            </>
          )}
        </tfoot>
      </table>
    </div>
  );
}

export function CostView() {
  const by = (bys as readonly string[]).includes(params.value.by) ? (params.value.by as By) : "namespace";
  const since = (periods as readonly string[]).includes(params.value.since) ? params.value.since : "24h";
  const { data, failure, reload } = useResource<Cost>(`cost?by=${by}&since=${since}`, 30, episodes.value?.[0]?.id);
  if (!data) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="cost" />;
  if (!data.nodes) return <Blank title="Nothing costs anything" text="There are no nodes with a known price." />;
  const query = parseQuery(params.value.q ?? "");
  const total = data.dollarsPerHour;
  const idle = sum(data.idle, (i) => i.dollarsPerHour);
  const work = Math.max(0, total - idle - data.overhead.dollarsPerHour);
  const parts = [["work", "workloads", work], ["idle", "idle", idle], ["over", "overhead", data.overhead.dollarsPerHour]] as const;
  const { best } = data;
  const ofRule = data.blocked?.find((b) => b.rule === best?.rule)?.nodes ?? 0;
  const from = data.since && !data.since.startsWith("0001-") ? data.since : "";
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Cost">
      <div class="wrap">
        <section class="cost-head" aria-label="Total">
          <div><b class="huge">{perHour(total)}</b><span class="muted">{perMonth(total)}, {plural(data.nodes, "node")}{data.unpricedNodes ? `, and ${count(data.unpricedNodes)} of unknown price` : ""}; as of <Clock time={data.until} /></span></div>
          <div><b class="huge">{dollars(data.dollars)}</b><span class="muted">{from ? <>since <Clock time={from} seconds={false} /></> : "in the period"}</span></div>
          <div><b class="huge"><Value text={data.floorPerHour > 0 ? perHour(data.floorPerHour) : "—"} /></b><span class="muted">lower bound{data.floorPerHour > 0 && total > 0 ? `, ${percent(1 - data.floorPerHour / total, 1)} less` : ""}</span></div>
        </section>
        <figure class="stack">
          <div aria-hidden="true">{parts.map(([cls, , v]) => v > 0 && <i key={cls} class={"stack-" + cls} style={{ width: `${(v / total) * 100}%` }} />)}</div>
          <figcaption>{parts.map(([cls, text, v]) => <span key={cls}><i class={"stack-" + cls} aria-hidden="true" />{text} <b>{perHour(v)}</b> <span class="muted">{percent(share(v, total))}</span></span>)}</figcaption>
        </figure>
        {best && (
          <section class="best" aria-label="The one change that frees the most">
            <div><span class="kind">The one change that frees the most</span><h2>{best.fix}</h2><p class="muted"><bdi>{best.reason}</bdi>. {plural(best.nodes, "node")} {best.nodes === 1 ? "stays" : "stay"} for it.</p></div>
            <div class="best-number"><b class="huge good">up to {perHour(best.dollarsPerHour)}</b><a href={link({ q: "kept:" + best.rule }, "fleet")}>{ofRule > best.nodes ? `Show all ${plural(ofRule, "node")} of the rule` : "Show the nodes"}</a></div>
          </section>
        )}
        <Section title="Blocked savings" note="nodes that stay for one rule, and what they waste at most; the sum may be more than all idle capacity">
          {data.blocked?.length ? (
            <div class="table-scroll" tabIndex={0} role="region" aria-label="Blocked savings">
              <table class="plain"><thead><tr><th>Rule</th><th class="number">Nodes</th><th class="number">up to $/h</th><th>Reason and fix</th></tr></thead>
                <tbody>{data.blocked.map((b, i) => <tr key={i}><td><a href={link({ q: "kept:" + b.rule }, "fleet")}>{b.rule}</a></td><td class="number">{count(b.nodes)}</td><td class="number">{dollars(b.dollarsPerHour)}</td><td>{b.reason}<Fix text={b.fix} />{b.causes > 1 && <span class="muted">and {plural(b.causes - 1, "other cause")}</span>}</td></tr>)}</tbody></table>
            </div>
          ) : <p class="muted calm">No rule blocks savings.</p>}
        </Section>
        {data.savings?.length ? (
          <Section title="Disruptions" note={`those that ended in the last ${periodTexts[since]}, by day in UTC; dollars per hour less than before`}>
            <div class="table-scroll tall" tabIndex={0} role="region" aria-label="Savings of disruptions">
              <table class="plain"><thead><tr><th>Day</th><th>Reason</th><th>Action</th><th class="number">Count</th><th class="number">planned $/h</th><th class="number">realized $/h</th><th class="number">Evictions</th><th class="number">Cancelled</th></tr></thead>
                <tbody>{data.savings.map((x) => <tr key={x.day + x.reason + x.decision}><td class="nowrap">{x.day}</td><td>{x.reason}</td><td>{x.decision}</td><td class="number">{count(x.actions)}</td><td class="number">{dollars(x.plannedPerHour)}</td><td class="number">{dollars(x.realizedPerHour)}</td><td class="number">{count(x.evictions)}</td><td class="number">{count(x.cancelled ?? 0)}</td></tr>)}</tbody>
                <tfoot><tr><th scope="row" colSpan={3}>total</th><td class="number">{count(sum(data.savings, (x) => x.actions))}</td><td class="number">{dollars(sum(data.savings, (x) => x.plannedPerHour))}</td><td class="number">{dollars(sum(data.savings, (x) => x.realizedPerHour))}</td><td class="number">{count(sum(data.savings, (x) => x.evictions))}</td><td class="number">{count(sum(data.savings, (x) => x.cancelled ?? 0))}</td></tr></tfoot></table>
            </div>
          </Section>
        ) : null}
        {data.commitments?.length ? (
          <Section title="Commitments" note="reserved instances and Savings Plans of the price book">
            <div class="table-scroll" tabIndex={0} role="region" aria-label="Commitments">
              <table class="plain"><thead><tr><th>Commitment</th><th class="number">Utilization</th><th class="number">Covers</th><th class="number">saves $/h</th></tr></thead>
                <tbody>{data.commitments.map((c) => <tr key={c.name}><td>{c.name}</td>{c.ended ? <><td class="number muted">ended</td><td class="number">—</td><td class="number">—</td></> :
                  <><td class="number">{percent(c.utilization)}</td><td class="number">{Number(c.coveredNodes.toFixed(1))} of {plural(c.eligibleNodes, "node")}</td><td class="number">{dollars(c.savedPerHour)}</td></>}</tr>)}</tbody></table>
            </div>
          </Section>
        ) : null}
        <div class="two">
          <Section title={"By " + byTexts[by]} note={
            <span class="choices"><Choice label="By" value={by} options={bys.map((b) => ({ value: b, text: byTexts[b] }))} onChange={(b) => set({ by: b === "namespace" ? undefined : b })} />
              <Choice label="Period" value={since} options={periods.map((p) => ({ value: p as string, text: periodTexts[p] }))} onChange={(p) => set({ since: p === "24h" ? undefined : p })} /></span>}>
            <Rows data={data} by={by} since={since} query={query} />
          </Section>
          <Section title="Idle by cause" note={perHour(idle)}>
            {data.idle.length ? (
              <ul class="idle">
                {data.idle.map((i) => (
                  <li key={i.cause}>
                    <div><b>{i.cause}</b><span class="number">{perHour(i.dollarsPerHour)} <span class="muted">{percent(share(i.dollarsPerHour, total))}</span></span></div>
                    <span class="bar"><i style={{ width: `${idle > 0 ? (i.dollarsPerHour / Math.max(...data.idle.map((x) => x.dollarsPerHour))) * 100 : 0}%` }} /></span>
                    <small>{causes[i.cause] ? "the node stays because " + causes[i.cause][0] : ""}{i.opens && Object.keys(i.opens).length > 0 && `; opens ${Object.entries(i.opens).map(([pool, t]) => `${clock(t, now.value, false)} ${zone(Date.parse(t))} (${pool})`).join(", ")}`}{causes[i.cause]?.[1] && <span class="good"> → {causes[i.cause][1]}</span>}</small>
                  </li>
                ))}
              </ul>
            ) : <p class="muted calm">No capacity is idle.</p>}
          </Section>
        </div>
      </div>
    </div>
  );
}
