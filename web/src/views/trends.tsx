export function TrendsView() { return <div />; }
