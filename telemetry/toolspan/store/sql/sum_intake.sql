-- The spans that came in the hours that overlap the window, by what became of them; null: no bound.
select reason, sum(spans)
from intake
where
  ($since_ns is null or hour > $since_ns - 3600000000000)
  and ($until_ns is null or hour < $until_ns)
group by reason
order by reason;
